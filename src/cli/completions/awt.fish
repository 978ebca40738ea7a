# Changes to a worktree of git-agentwt: `awt task-5`; `awt -` goes back, `awt` to the main worktree.
function awt
    switch "$argv[1]"
        case -
            cd -
        case ''
            set -l common (git rev-parse --path-format=absolute --git-common-dir); or return
            cd (string replace -r '/\.git$' '' -- $common)
        case '*'
            set -l directory (git agentwt path $argv[1]); or return
            cd $directory
    end
end
function _awt_names
    set -l common (git rev-parse --git-common-dir 2>/dev/null); or return
    ls $common/agentwt/worktrees 2>/dev/null
end
complete -c awt -f -a '(_awt_names)'
