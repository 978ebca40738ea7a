
# What clap does not know: worktrees, profiles, branches and refs, and `git agentwt <TAB>`.

function __git_agentwt_names -d 'Names of the worktrees of this repository: their records are directories'
    set -l common (git rev-parse --git-common-dir 2>/dev/null)
    or return
    for path in $common/agentwt/worktrees/*/
        string replace -r '.*/([^/]+)/$' '$1' -- $path
    end
end

function __git_agentwt_profiles -d 'Profiles of the config in the main worktree'
    set -l common (git rev-parse --git-common-dir 2>/dev/null)
    and string match -rg '^ *\[ *scope\."?([^]." ]+)"? *\]' <$common/../.agentwt/config.toml 2>/dev/null
end

function __git_agentwt_branches -d 'Branches, those of remotes without the name of the remote'
    git for-each-ref --format='%(refname:lstrip=2)' refs/heads 2>/dev/null
    git for-each-ref --format='%(refname:lstrip=3)' refs/remotes 2>/dev/null
end

function __git_agentwt_refs -d 'Branches and tags'
    git for-each-ref --format='%(refname:lstrip=2)' refs/heads refs/remotes refs/tags 2>/dev/null
end

complete -c git-agentwt -n "__fish_git_agentwt_using_subcommand add create new scope verify" -l scope -x -a "(__git_agentwt_profiles)" -d Profile
complete -c git-agentwt -n "__fish_git_agentwt_using_subcommand add create new" -s b -l branch -x -a "(__git_agentwt_branches)" -d Branch
complete -c git-agentwt -n "__fish_git_agentwt_using_subcommand add create new changed diff log" -l base -x -a "(__git_agentwt_refs)" -d Commit
complete -c git-agentwt -n "__fish_git_agentwt_using_subcommand path cd status changed diff log verify accept land merge reapply renew remove rm" -f -a "(__git_agentwt_names)" -d Worktree
complete -c git-agentwt -n "__fish_git_agentwt_using_subcommand scope restore" -a "(__git_agentwt_names)" -d Worktree
complete -c git-agentwt -n "__fish_git_agentwt_using_subcommand hooks; and __fish_seen_subcommand_from install uninstall status" -a "(__git_agentwt_names)" -d Worktree

# fish's own completion of git asks that of every `git-*` command on PATH, but in fish 3.6.0 under
# the wrong name. The same answer twice is shown once.
function __git_agentwt_after_git
    set -l words (commandline -opc)
    set -l at (contains -i -- agentwt $words)
    or return
    set -e words[1..$at]
    complete -C "git-agentwt $words "(commandline -ct)
end

complete -c git -f -n "__fish_seen_subcommand_from agentwt" -a "(__git_agentwt_after_git)"
