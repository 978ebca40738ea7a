//! The rules as a table: what is recorded of a ref, and how it came to be what it is.
//!
//! A commit is a letter; `A` is the base. A row is `title | ref | at add | now | journal | log |
//! world
//! | origin`. `@x=B` is a symbolic ref to `x`, which is at `B`. The journal has `old>new`, `-` for
//! zeros and `@` for a ref, of another ref after its name and a colon. The log has the oldest entry
//! first, with a semicolon between entries, that of another HEAD with a slash.

mod own;
mod proofs;

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString};

use super::past_hooks::commits_past_hooks;
use super::records::{OtherHead, RecordCache, RecordSource, RefRecords};
use super::{Loss, Mover, Origin, Since, StashOrigin, attribute};
use crate::git::hooks::journal::Journal;
use crate::git::reflog::ReflogEntry;
use crate::git::refs::Ref;
use crate::words::name::CommitId;

const ROWS: &str = "\
unchanged branch | refs/heads/main | A | A | | A clone: from x | | none
back where it was | refs/heads/main | A | A | A>B, B>A | A clone: from x | | Unchanged
back after a deletion | refs/heads/main | A | A | A>-, ->A | | | Unchanged
branch at a commit of others, back after a deletion | refs/heads/dev | C | C | C>-, ->C | C branch: Created from C | | Unchanged
own branch is not judged | refs/heads/agent/x | A | B | A>B | A branch: Created; B commit: b | made B | none
new branch | refs/heads/new | - | A | ->A | A branch: Created from HEAD | | MadeHere
new branch with commits | refs/heads/new | - | B | ->A, A>B | A branch: Created from HEAD; B commit: b | made B | MadeHere
new branch with an empty log | refs/heads/new | - | B | ->B | | made B | MadeHere
new branch whose log lost its beginning | refs/heads/new | - | B | ->A, A>B | B commit: b | made B | MadeHere
new branch whose log lost its beginning, by a fetch | refs/heads/new | - | B | ->A, ->B | B fetch -q . +HEAD:new: forced-update | made B | MadeHere
new branch whose log lost its beginning, by `branch -f` | refs/heads/new | - | A | ->B, B>A | A branch: Reset to HEAD~ | made B | MadeHere
new branch whose log lost its beginning, taken back | refs/heads/new | - | A | ->B, B>A | A reset: moving to HEAD~ | made B | MadeHere
new branch whose log begins with others | refs/heads/new | - | B | ->A, A>B | C commit: c; B commit: b | made B | OfOthersMovedHere
branch of others that was moved here and back | refs/heads/new | - | C | ->B, B>C | C branch: Created from C; B; C reset: moving to C | made B | OfOthersMovedHere
new branch that was deleted and made again | refs/heads/new | - | C | ->A, A>B, ->-, ->C | C branch: Created from agent/x | made B; made C | MadeHere
new branch that the user deleted and that was made again | refs/heads/new | - | C | ->A, A>B, ->C | C branch: Created from agent/x | made B; made C | MadeHere
branch of others that was deleted and made again | refs/heads/new | - | C | ->-, ->C | C branch: Created from agent/x | made C | OfOthersMovedHere
new branch that others deleted and made again, moved here | refs/heads/new | - | C | ->A, A>B, D>C | D branch: Created; C branch: Reset to C | made B; made C | OfOthersMovedHere
new branch of an older log | refs/heads/new | - | B | ->B | C branch: Created; B commit: b | | OfOthersMovedHere
new tag | refs/tags/v1 | - | A | ->A | | | MadeHere
new tag on an own commit | refs/tags/v1 | - | B | ->B | | made B | MadeHere
new branch that was deleted | refs/heads/new | - | - | ->B, B>- | | made B | none
new branch renamed from the own one | refs/heads/new | - | B | B>B | A branch: Created; B Branch: renamed refs/heads/agent/x to refs/heads/new | made B | MadeHere
new branch copied from the own one | refs/heads/new | - | C | B>C | B Branch: copied refs/heads/agent/x to refs/heads/new; C commit: c | made C | MadeHere
new branch renamed from a forgotten one | refs/heads/new | - | C | B>C, refs/heads/tmp:->B | B Branch: renamed refs/heads/tmp to refs/heads/new; C commit: c | made C | MadeHere
new branch renamed from one of others | refs/heads/new | - | C | B>C | B Branch: renamed refs/heads/theirs to refs/heads/new; C commit: c | | OfOthersMovedHere
new branch renamed from the own one, without its log | refs/heads/y | - | B | A>B, refs/heads/agent/x:A>-, HEAD:A>-, HEAD:->@ | | made B | MadeHere
new branch renamed from the own one, without its log and unreported | refs/heads/y | - | B | A>B, HEAD:->@ | | gone; made B | MadeHere
new branch renamed from the own one after a commit, unreported | refs/heads/y | - | C | refs/heads/agent/x:A>B, HEAD:->@, B>C | | gone; made B; made C | MadeHere
branch of others that HEAD went to, while the own one was deleted | refs/heads/y | - | B | A>B, refs/heads/agent/x:A>-, HEAD:->@ | | gone; made B | OfOthersMovedHere
branch of others elsewhere that HEAD went to, while the own one is gone | refs/heads/y | - | B | C>B, HEAD:->@ | | gone; made B | OfOthersMovedHere
branch of others that HEAD went to, without its log | refs/heads/y | - | B | A>B, HEAD:->@ | | made B | OfOthersMovedHere
branch of others that was renamed here, without its log | refs/heads/y | - | B | A>B, HEAD:A>-, HEAD:->@ | | made B | OfOthersMovedHere
new branch on which an agent works | refs/heads/new | - | B | ->B | B branch: Created | agent refs/heads/new; made B | OfOthersMovedHere
new branch while an agent works on another | refs/heads/new | - | B | ->B | B branch: Created | agent refs/heads/y; made B | MadeHere
new branch that the user checked out in a linked worktree | refs/heads/new | - | B | ->B | B branch: Created | linked refs/heads/new; made B | MadeHere
new branch that the user checked out | refs/heads/new | - | B | ->B | B branch: Created | main refs/heads/new: B checkout: moving from main to new; made B | MadeHere
branch of others made since | refs/heads/theirs | - | C | | C branch: Created | | none
branch of others made since, and reset here to where it is | refs/heads/theirs | - | C | C>C | C branch: Created | | MovedElsewhere
branch of others made since and moved here | refs/heads/theirs | - | D | C>D | C branch: Created; D branch: Reset to D | | OfOthersMovedHere
branch of others made since and deleted here | refs/heads/theirs | - | - | C>- | | | OfOthersDeletedHere
branch of others deleted here, whatever it was | refs/heads/theirs | - | - | ->- | | | OfOthersDeletedHere
branch at the base renamed past the hooks | refs/heads/tmp | - | - | A>- | | | Unchanged
own branch that was deleted by its value | refs/heads/tmp | - | - | B>- | | made B | Unchanged
branch moved here | refs/heads/main | A | B | A>B | A clone: from x; B branch: Reset to B | made B | MovedHere
branch moved here to a commit of others | refs/heads/main | A | C | A>C | A clone: from x; C branch: Reset to C | | MovedHere
branch moved here by update-ref | refs/heads/main | A | B | A>B | A clone: from x; B | made B | MovedHere
branch moved here without a log | refs/heads/main | A | B | A>B | | made B | MovedHere
branch moved here twice | refs/heads/main | A | C | A>B, B>C | A clone: from x; B push; C push | made B; made C | MovedHere
branch moved here and back halfway | refs/heads/main | A | B | A>B, B>C, C>B | A clone: from x; B push; C push; B push | made B; made C | MovedHere
branch deleted here | refs/heads/main | A | - | A>- | | | DeletedHere
branch moved here and deleted here | refs/heads/main | A | - | A>B, B>- | | made B | DeletedHere
branch deleted here with a log left | refs/heads/main | A | - | A>- | A clone: from x | | DeletedHere
tag moved here | refs/tags/v1 | A | B | A>B | | | MovedHere
tag moved by others, and set here to where it is | refs/tags/v1 | A | C | C>C | | | Unexplained
tag moved here, and set here again | refs/tags/v1 | A | B | A>B, B>B | | | MovedHere
tag deleted here | refs/tags/v1 | A | - | A>- | | | DeletedHere
note moved here | refs/notes/commits | A | B | A>B | A notes; B notes | | MovedHere
branch moved here, then by the user | refs/heads/main | A | C | A>B | A clone: from x; B push; C commit: c | main refs/heads/main: C commit: c | MovedHereThenElsewhere
branch moved here, then without a trace | refs/heads/main | A | C | A>B | A clone: from x; B push; C | | MovedHereThenElsewhere
branch moved here, then onto a commit of here past the hooks | refs/heads/main | A | C | A>B | A clone: from x; B push; C push | made C | MovedHerePastHooks
branch moved here, then deleted elsewhere | refs/heads/main | A | - | A>B | | | MovedHereThenElsewhere
branch deleted here, then made elsewhere | refs/heads/main | A | C | A>- | C branch: Created from C | | MovedHereThenElsewhere
branch deleted here, then made elsewhere where the own branch went back to | refs/heads/dev | A | C | A>-, refs/heads/agent/x:A>C | C branch: Created from main | | MovedHereThenElsewhere
branch deleted here, then made past the hooks on a commit of here | refs/heads/dev | A | C | A>- | C branch: Created from HEAD | made C | MovedHerePastHooks
new branch moved on by others | refs/heads/new | - | C | ->B | B branch: Created; C commit: c | main refs/heads/new: C commit: c | MovedHereThenElsewhere
move to where a commit of the user had put it | refs/heads/main | A | C | ->C | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedElsewhere
move to where a commit of the user had put it, then past its log | refs/heads/main | A | D | ->C | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedHereThenElsewhere
move to where a commit of the user had put it, by a log of a branch alone | refs/heads/main | A | C | ->C | A clone: from x; C commit: c | | MovedHere
move back to a commit that the user had taken back | refs/heads/main | A | C | ->C | A clone: from x; C commit: c; A reset: moving to HEAD~; C | main refs/heads/main: A clone: from x / C commit: c / A reset: moving to HEAD~ | MovedHere
move back to a commit that the user had taken back, with the words of a commit | refs/heads/main | A | C | ->C | A clone: from x; C commit: c; A reset: moving to HEAD~; C commit: c | main refs/heads/main: A clone: from x / C commit: c / A reset: moving to HEAD~ | MovedHere
move to a commit of here that the user is on | refs/heads/main | A | B | ->B | A clone: from x; B reset: moving to B | made B; main refs/heads/main: B reset: moving to B | MovedHere
move to where the user had merged this work | refs/heads/main | A | B | ->B | A clone: from x; B merge agent/x: Fast-forward | made B; main refs/heads/main: B merge agent/x: Fast-forward | MovedElsewhere
move to where the user had put it, which a table logs again | refs/heads/main | A | C | C>C | A clone: from x; C commit: c; C | main refs/heads/main: A clone: from x / C commit: c | MovedElsewhere
move to where the user had put it, which a table logs again, then by the user | refs/heads/main | A | C | B>B | A clone: from x; B commit: b; C commit: c | main refs/heads/main: A clone: from x / B commit: b / C commit: c | MovedHereThenElsewhere
move from here, then by the user, and again from here to the same place | refs/heads/main | A | C | A>B, C>C | A clone: from x; B; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedHereThenElsewhere
move by update-ref, which a table also logs for the HEAD there | refs/heads/main | A | C | A>C | A clone: from x; C | main refs/heads/main: A clone: from x / C | MovedHere
two moves, one to where the user had put it | refs/heads/main | A | C | A>D, D>C | A clone: from x; D; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedHere
move to the place of add, then by the user | refs/heads/main | A | C | ->A | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedElsewhere
move to the place of add, then by update-ref and by the user | refs/heads/main | A | C | ->A | A clone: from x; D; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedElsewhere
move to the place of add by a log of a branch alone, then by the user | refs/heads/main | A | C | ->A | A clone: from x; C commit: c | | MovedHereThenElsewhere
move back to the place of add, then by the user | refs/heads/main | A | D | ->A | A clone: from x; C commit: c; A; D commit: d | main refs/heads/main: A clone: from x / C commit: c / D commit: d | MovedHereThenElsewhere
move away from the place of add and back, then by the user | refs/heads/main | A | C | A>B, ->A | A clone: from x; B; A; C commit: c | made B; main refs/heads/main: A clone: from x / C commit: c | MovedHereThenElsewhere
move to the same place, then by the user | refs/heads/main | A | D | ->C | A clone: from x; C commit: c; D commit: d | main refs/heads/main: A clone: from x / C commit: c / D commit: d | MovedHereThenElsewhere
branch linked here | refs/heads/main | A | @refs/heads/agent/x=B | A>@ | A clone: from x | made B | MovedHere
branch linked here to the same commit | refs/heads/main | A | @refs/heads/agent/x=A | A>@ | A clone: from x | | MovedHere
new branch linked here | refs/heads/new | - | @refs/heads/agent/x=B | ->@ | | made B | OfOthersMovedHere
branch linked here, then deleted elsewhere | refs/heads/main | A | - | A>@ | | | MovedHereThenElsewhere
branch moved here and back, then linked elsewhere to the same commit | refs/heads/main | A | @refs/heads/y=A | A>B, B>A | A clone: from x; B; A | made B | Unexplained
move to the place of add, then linked elsewhere | refs/heads/main | A | @refs/heads/y=C | ->A | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | MovedHereThenElsewhere
branch linked and put back | refs/heads/main | A | A | A>@, @>A | A clone: from x | | Unchanged
HEAD of the main worktree | main-worktree/HEAD | - | - | A>B | | | OfOtherWorktreeMovedHere
HEAD of another worktree | worktrees/other/HEAD | - | - | A>B | | | OfOtherWorktreeMovedHere
bisect ref of another worktree | worktrees/other/refs/bisect/bad | - | - | ->B | | | OfOtherWorktreeMovedHere
packed branch | refs/heads/main | A | A | ->A, A>- | A clone: from x | | none

commit by the user | refs/heads/main | A | C | | A clone: from x; C commit: c | main refs/heads/main: C commit: c | MovedElsewhere
commit by the user whose HEAD log is gone | refs/heads/main | A | C | | A clone: from x; C commit: c | | MovedElsewhere
commit by the user whose HEAD was moved there from here | refs/heads/main | A | C | main-worktree/HEAD:A>C | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | Unexplained
commit by the user that was packed from here | refs/heads/main | A | C | ->C, C>- | A clone: from x; C commit: c | | MovedElsewhere
pull by the user | refs/heads/main | A | C | | A clone: from x; C pull: Fast-forward | main refs/heads/main: C pull: Fast-forward | MovedElsewhere
merge of this work by the user | refs/heads/main | A | B | | A clone: from x; B merge agent/x: Fast-forward | made B; main refs/heads/main: B merge agent/x: Fast-forward | MovedElsewhere
merge of this work that no HEAD shows | refs/heads/main | A | B | | A clone: from x; B merge agent/x: Fast-forward | made B | Unexplained
reset by the user to a commit of others | refs/heads/main | A | C | | A clone: from x; C reset: moving to C | | MovedElsewhere
reset to a commit of here | refs/heads/main | A | B | | A clone: from x; B reset: moving to B | made B | Unexplained
reset by the user to where the worktree went too | refs/heads/main | A | C | refs/heads/agent/x:A>C | A clone: from x; C reset: moving to HEAD~ | main refs/heads/main: A clone: from x / C reset: moving to HEAD~ | MovedElsewhere
the same without a log of another HEAD | refs/heads/main | A | C | refs/heads/agent/x:A>C | A clone: from x; C reset: moving to HEAD~ | | Unexplained
the same with the log of a HEAD that is on another branch | refs/heads/main | A | C | refs/heads/agent/x:A>C | A clone: from x; C reset: moving to HEAD~ | main refs/heads/y: A clone: from x / C reset: moving to HEAD~ | Unexplained
the same after the older log is gone | refs/heads/main | A | C | refs/heads/agent/x:A>C | C reset: moving to HEAD~ | main refs/heads/main: C reset: moving to HEAD~ | MovedElsewhere
reset by the user to a commit of here | refs/heads/main | A | B | | A clone: from x; B reset: moving to B | made B; main refs/heads/main: B reset: moving to B | Unexplained
rebase by the user | refs/heads/main | A | C | | A clone: from x; C rebase (finish): refs/heads/main onto D | | MovedElsewhere
branch -f by the user | refs/heads/main | A | C | | A clone: from x; C branch: Reset to C | | MovedElsewhere
branch -f onto a commit of here | refs/heads/main | A | B | | A clone: from x; B branch: Reset to B | made B | Unexplained
fetch into a branch by the user | refs/heads/main | A | C | | A clone: from x; C fetch origin main:main: fast-forward | | MovedElsewhere
update-ref without a message | refs/heads/main | A | C | | A clone: from x; C | | Unexplained
update-ref that a table also logs for the HEAD there | refs/heads/main | A | C | | A clone: from x; C | main refs/heads/main: A clone: from x / C | MovedElsewhere
update-ref onto a commit of here | refs/heads/main | A | B | | A clone: from x; B | made B | MovedHerePastHooks
update-ref onto a commit of a branch that was made and deleted here | refs/heads/main | A | C | refs/heads/tmp:->C, refs/heads/tmp:C>- | A clone: from x; C | | MovedHerePastHooks
update-ref onto a commit of here that the user took over | refs/heads/dev | A | B | | A clone: from x; B | made B; main refs/heads/main: B merge agent/x: Fast-forward | Unexplained
push of this work, which the user took over, to this repository | refs/heads/dev | A | B | | A clone: from x; B push | made B; main refs/heads/main: B merge agent/x: Fast-forward | Unexplained
branch -f onto a commit of here that the user took over | refs/heads/dev | A | B | | A clone: from x; B branch: Reset to main | made B; main refs/heads/main: B merge agent/x: Fast-forward | MovedElsewhere
push to this repository | refs/heads/main | A | C | | A clone: from x; C push | | Unexplained
push of this work to this repository | refs/heads/main | A | B | | A clone: from x; B push | made B | MovedHerePastHooks
rename over a branch | refs/heads/main | A | C | | A clone: from x; C Branch: renamed refs/heads/y to refs/heads/main | | Unexplained
rename of this work over a branch | refs/heads/main | A | B | | A clone: from x; B Branch: renamed refs/heads/agent/x to refs/heads/main | made B | MovedHerePastHooks
file written past git | refs/heads/main | A | C | | A clone: from x | | Unexplained
file written past git after a commit of the user | refs/heads/main | A | D | | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | Unexplained
file written past git onto a commit of here | refs/heads/main | A | B | | A clone: from x | made B | MovedHerePastHooks
log that does not have the place of add | refs/heads/main | A | C | | C commit: c | | Unexplained
log that is gone | refs/heads/main | A | C | | | | Unexplained
log that is gone, on a commit of here | refs/heads/main | A | B | | | made B | MovedHerePastHooks
log that is gone, on a commit of here that the user took over | refs/heads/dev | A | B | | | made B; main refs/heads/main: B merge agent/x: Fast-forward | MovedElsewhere
no logs in this repository | refs/heads/main | A | C | | | nologs | MovedElsewhere
no logs in this repository, on a commit of here | refs/heads/main | A | B | | | nologs; made B | MovedElsewhere
branch deleted elsewhere | refs/heads/main | A | - | | | | DeletedElsewhere
branch deleted with its log left | refs/heads/main | A | - | | A clone: from x | | Unexplained
branch linked elsewhere | refs/heads/main | A | @refs/heads/y=C | | A clone: from x; C commit: c | | Unexplained
branch linked elsewhere to the same commit | refs/heads/main | A | @refs/heads/y=A | | A clone: from x | | Unexplained
branch linked elsewhere that is where the user left it | refs/heads/main | A | @refs/heads/y=C | | A clone: from x; C commit: c | main refs/heads/main: A clone: from x / C commit: c | Unexplained
branch linked elsewhere without a log | refs/heads/main | A | @refs/heads/y=A | | | | Unchanged
tag moved elsewhere | refs/tags/v1 | A | C | | | | Unexplained
tag moved elsewhere to a commit of the user | refs/tags/v1 | A | C | | | main refs/heads/main: C commit: c | Unexplained
tag deleted elsewhere | refs/tags/v1 | A | - | | | | DeletedElsewhere
tag fetched over another with a log | refs/tags/v1 | A | C | | A fetch origin: storing ref; C fetch origin: updating tag | | MovedElsewhere
note of others | refs/notes/commits | A | C | | A notes: Notes added; C notes: Notes added | | Unexplained
note of others without a log | refs/notes/commits | A | C | | | | MovedElsewhere
note onto a commit of here without a log | refs/notes/commits | A | B | | | made B | MovedHerePastHooks

fetch elsewhere | refs/remotes/origin/main | A | C | | A clone: from x; C fetch origin: fast-forward | | MovedElsewhere
fetch elsewhere of a commit of here | refs/remotes/origin/main | A | B | | A clone: from x; B fetch origin: fast-forward | made B | MovedElsewhere
forced fetch elsewhere | refs/remotes/origin/main | A | C | | A clone: from x; C fetch --prune origin: forced-update | | MovedElsewhere
fetch of a path elsewhere | refs/remotes/origin/main | A | C | | A clone: from x; C fetch . HEAD:refs/remotes/origin/main: storing head | | Unexplained
fetch under another name elsewhere | refs/remotes/origin/main | A | C | | A clone: from x; C fetch origin +side:refs/remotes/origin/main: storing head | | Unexplained
fetch of another remote elsewhere | refs/remotes/origin/main | A | C | | A clone: from x; C fetch team: fast-forward | | Unexplained
push elsewhere | refs/remotes/origin/main | A | C | | A clone: from x; C update by push | | MovedElsewhere
update-ref of a remote-tracking branch | refs/remotes/origin/main | A | C | | A clone: from x; C | | Unexplained
update-ref of a remote-tracking branch onto a commit of here that the user took over | refs/remotes/origin/main | A | B | | A clone: from x; B | made B; main refs/heads/main: B merge agent/x: Fast-forward | MovedElsewhere
remote-tracking branch linked elsewhere to the same commit | refs/remotes/origin/main | A | @refs/remotes/origin/next=A | | A clone: from x | | Unchanged
remote-tracking branch past its log | refs/remotes/origin/main | A | C | | A clone: from x | | Unexplained
remote-tracking branch without a log | refs/remotes/origin/main | A | C | | | | MovedElsewhere
remote-tracking branch without a log on a commit of here | refs/remotes/origin/main | A | B | | | made B | MovedHerePastHooks
remote-tracking branch of here moved past the hooks | refs/remotes/origin/main | A | B | | A clone: from x; B | made B | MovedHerePastHooks
remote-tracking branch pruned elsewhere | refs/remotes/origin/old | A | - | | | | DeletedElsewhere
new remote-tracking branch elsewhere | refs/remotes/origin/new | - | C | | C fetch origin: storing head | | none
fetch from here | refs/remotes/origin/main | A | C | A>C | A clone: from x; C fetch origin: fast-forward | | Everyday
fetch from here of a new branch | refs/remotes/origin/new | - | C | ->C | C fetch origin: storing head | | Everyday
pull from here | refs/remotes/origin/main | A | C | A>C | A clone: from x; C pull: fast-forward | | Everyday
fetch from here with depth | refs/remotes/origin/main | A | C | A>C | A clone: from x; C fetch --depth 1 origin: forced-update | | Everyday
fetch from here, then elsewhere | refs/remotes/origin/main | A | D | A>C | A clone: from x; C fetch origin: fast-forward; D fetch origin: fast-forward | | MovedElsewhere
fetch from here past its log, then elsewhere | refs/remotes/origin/main | A | D | A>C | A clone: from x; D fetch origin: fast-forward | | MovedHereThenElsewhere
update-ref from here, then a fetch elsewhere | refs/remotes/origin/main | A | D | A>C | A clone: from x; C; D fetch origin: fast-forward | | MovedHereThenElsewhere
push of what is there from here, then a push elsewhere | refs/remotes/origin/main | A | C | ->A | A clone: from x; C update by push | | MovedElsewhere
push of what was pushed elsewhere before, then a push elsewhere | refs/remotes/origin/main | A | C | ->A | A update by push; C update by push | | MovedElsewhere
push of what is there from here, then a push elsewhere, in a clone | refs/remotes/origin/main | A | C | ->A | C update by push | | MovedElsewhere
push of what is there from here, then a fetch past its log | refs/remotes/origin/main | A | C | ->A | | | MovedHereThenElsewhere
move from here to the place of add, then elsewhere | refs/remotes/origin/main | A | C | ->A | D fetch origin: fast-forward; A; C update by push | | MovedHereThenElsewhere
prune and fetch from here, then elsewhere | refs/remotes/origin/main | A | C | A>- | C fetch origin: storing head | | MovedHereThenElsewhere
fetch of a path from here | refs/remotes/origin/main | A | B | A>B | A clone: from x; B fetch . HEAD:refs/remotes/origin/main: storing head | made B | RemoteMovedHere add
fetch under another name from here | refs/remotes/origin/main | A | C | A>C | A clone: from x; C fetch origin +side:refs/remotes/origin/main: storing head | | RemoteMovedHere add
fetch of another remote from here | refs/remotes/origin/main | A | C | A>C | A clone: from x; C fetch team: fast-forward | | RemoteMovedHere add
update-ref from here | refs/remotes/origin/main | A | B | A>B | A clone: from x; B | made B | RemoteMovedHere add
update-ref of a new one from here | refs/remotes/origin/new | - | B | ->B | B | made B | RemoteMovedHere add
prune from here | refs/remotes/origin/old | A | - | A>- | | | RemoteRemovedHere
removal of a later one from here | refs/remotes/origin/new | - | - | C>- | | | OfOthersDeletedHere
push of the own branch | refs/remotes/origin/agent/x | - | B | ->B | B update by push | made B | Everyday
push of the own branch again | refs/remotes/origin/agent/x | - | C | ->B, B>C | B update by push; C update by push | made B; made C | Everyday
push of the own branch that was there | refs/remotes/origin/agent/x | A | B | A>B | A fetch origin: storing head; B update by push | made B | Everyday
push of the own branch without a log | refs/remotes/origin/agent/x | - | B | ->B | | made B | Everyday
push of the own branch past its log | refs/remotes/origin/agent/x | A | B | A>B | A fetch origin: storing head | made B | RemoteMovedPastLog add
push of the own branch to a remote with a slash | refs/remotes/team/a/agent/x | - | B | ->B | B update by push | made B; remote team/a | Everyday
push to a branch that only looks like the own one | refs/remotes/origin/me/agent/x | - | B | ->B | B update by push | made B | PushedHere B later
push to the base branch | refs/remotes/origin/main | A | B | A>B | A clone: from x; B update by push | made B | PushedHere B add
push to the base branch, then a fetch | refs/remotes/origin/main | A | C | A>B, B>C | A clone: from x; B update by push; C fetch origin: fast-forward | made B | PushedHere B add
push to a new branch of another name | refs/remotes/origin/side | - | B | ->B | B update by push | made B | PushedHere B later
push to a new branch that was deleted there and pushed again | refs/remotes/origin/side | - | C | ->B, ->-, ->C | C update by push | made B; made C | PushedHere C later
push to a branch of others that was deleted there from here | refs/remotes/origin/side | - | C | ->-, ->C | C update by push | made C | PushedHere C add
push to a fetched branch of others that was deleted there from here | refs/remotes/origin/side | - | C | ->D, ->-, ->C | C update by push | made C | PushedHere C add
push to a branch of others made since | refs/remotes/origin/side | - | B | C>B | C fetch origin: storing head; B update by push | made B | PushedHere B add
push to a branch that others pushed since | refs/remotes/origin/side | - | B | C>B | C update by push; B update by push | made B | PushedHere B add
push of a commit of others to a new branch | refs/remotes/origin/side | - | A | ->A | A update by push | | PushedHere A later
move from here with an emptied log | refs/remotes/origin/main | A | C | A>C | | | RemoteMovedPastLog add
move from here without logs in this repository | refs/remotes/origin/main | A | C | A>C | | nologs | Everyday
move onto a commit of here without a log | refs/remotes/origin/main | A | B | A>B | | made B | RemoteMovedPastLog add
move onto a commit of here without logs in this repository | refs/remotes/origin/main | A | B | A>B | | nologs; made B | RemoteMovedPastLog add
remote-tracking branch linked here, then moved by a push elsewhere | refs/remotes/origin/main | A | @refs/remotes/origin/next=C | A>@ | A clone: from x; C update by push | | RemoteMovedHere add
move past its log from here | refs/remotes/origin/main | A | C | A>C | A clone: from x | | RemoteMovedPastLog add

symbolic as before | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/remotes/origin/main=C | | | | Unchanged
symbolic removed elsewhere | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | - | | | | SymbolicRemoved unknown
symbolic of a remote removed from here | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | - | A>- | | | SymbolicRemoved unknown
symbolic branch removed from here | refs/heads/alias | @refs/heads/main=A | - | A>- | | | SymbolicRemoved here
symbolic that names a commit | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | A | | | | SymbolicDetached
symbolic set to another branch upstream | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/remotes/origin/next=C | | | | SymbolicRetargeted unknown
symbolic set to a commit of here | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/heads/agent/x=B | | | made B | SymbolicRetargeted here
symbolic set to another branch upstream that is on a commit of here | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/remotes/origin/next=B | | | made B | SymbolicRetargeted here
symbolic set to a branch upstream that was fetched from here | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/remotes/origin/new=C | refs/remotes/origin/new:->C | | log refs/remotes/origin/new=C fetch origin: storing head | SymbolicRetargeted unknown
symbolic set to the own branch | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/heads/agent/x=A | | | | SymbolicRetargeted here
symbolic branch set from here | refs/heads/alias | @refs/heads/main=A | @refs/heads/y=C | ->@ | | | SymbolicRetargeted here
symbolic set to a branch of others | refs/heads/alias | @refs/heads/main=A | @refs/heads/y=C | | | | SymbolicRetargeted unknown
symbolic set to where this work was pushed | refs/remotes/origin/HEAD | @refs/remotes/origin/main=A | @refs/remotes/origin/side=C | refs/remotes/origin/side:->B | | log refs/remotes/origin/side=B update by push; C fetch origin: fast-forward | SymbolicRetargeted here

rescued work deleted from here | refs/agentwt/rescue/a | C | - | C>- | | | SavedWorkLost deleted here
rescued work deleted elsewhere | refs/agentwt/rescue/a | C | - | | | | SavedWorkLost deleted unknown
rescued work replaced from here | refs/agentwt/rescue/a | C | D | C>D | | | SavedWorkLost replaced here
rescued work that names a branch instead, on the same commit | refs/agentwt/rescue/a | C | @refs/heads/y=C | | | | SavedWorkLost deleted unknown
rescued work replaced elsewhere | refs/agentwt/rescue/a | C | D | | | | SavedWorkLost replaced unknown
rescued work replaced from here and put back | refs/agentwt/rescue/a | C | C | C>D, D>C | | | Unchanged
rescued work that came later, replaced from here | refs/agentwt/rescue/a | - | D | C>D | | | SavedWorkLost replaced here
rescued work that came later, deleted here, whatever it was | refs/agentwt/rescue/a | - | - | ->- | | | SavedWorkLost deleted here
rescued work that came later, deleted here and made again | refs/agentwt/rescue/a | - | C | C>-, ->C | | | SavedWorkLost replaced here
rescued work made by a command | refs/agentwt/rescue/a | - | C | | | | none
rescued work made by hand | refs/agentwt/rescue/a | - | C | ->C | | | MadeHere
kept work made by hand | refs/agentwt/kept/a/b | - | C | ->C | | | MadeHere
kept work made by hand that a command took away | refs/agentwt/kept/a/b | - | - | ->C | | | Unchanged
kept work made by hand twice and deleted from here | refs/agentwt/kept/a/b | - | - | ->C, ->D, D>- | | | SavedWorkLost deleted here
trash made by hand | refs/agentwt/trash/a/b | - | C | ->C | | | MadeHere
what came in by hand | refs/agentwt/incoming/a | - | C | ->C | | | MadeHere
what came in by a command | refs/agentwt/incoming/a | - | C | | | | none
what came in by a command, moved from here | refs/agentwt/incoming/a | - | C | D>C | | | OfOthersMovedHere
ref of an unknown directory made here | refs/custom/a | - | C | ->C | | | MadeHere
rescued work that is there | refs/agentwt/rescue/a | C | C | | | | none
kept work that expired | refs/agentwt/kept/a | C | - | | | | DeletedElsewhere
kept work deleted from here | refs/agentwt/kept/a | C | - | C>- | | | SavedWorkLost deleted here
kept work replaced and deleted from here, which looks packed | refs/agentwt/kept/a | C | - | ->D, D>- | | | SavedWorkLost deleted here
kept work that was packed from here, and expired | refs/agentwt/kept/a | C | - | ->C, C>- | | | SavedWorkLost deleted unknown
kept work that was packed, then replaced elsewhere | refs/agentwt/kept/a | C | D | ->C, C>- | | | SavedWorkLost replaced unknown
trash that was replaced | refs/agentwt/trash/a | C | D | | | | SavedWorkLost replaced unknown
trash made and deleted from here | refs/agentwt/trash/a | - | - | C>- | | | SavedWorkLost deleted here
ref of our own commands | refs/agentwt/run/x/b | - | B | ->B | | | none
ref of our own commands that was there, moved from here | refs/agentwt/run/y/b | A | B | A>B | | | MovedHere
replace refs are judged as a whole | refs/replace/a | A | B | A>B | | | none
prefetched refs are not judged | refs/prefetch/a | A | B | A>B | | | none
the stash is judged by its entries | refs/stash | A | B | A>B | | | none
an entry of the stash is judged with it | refs/stash@{1} | C | - | | | | none
ref whose name begins as the stash does | refs/stash-x | - | C | ->C | | | MadeHere
ref below a directory whose name begins as the stash does | refs/stashes/x | A | B | A>B | | | MovedHere
update-ref onto a commit of a ref whose name begins as the stash does | refs/heads/main | A | C | refs/stash-x:->C | A clone: from x; C | | MovedHerePastHooks
bisect ref of the worktree's own | refs/bisect/bad | - | B | ->B | | | none
";

/// A whole row is read by [`row`].
struct Row {
    title: String,
    name: BString,
    world: World,
    origin: String,
}

/// What is recorded in a row.
#[derive(Default)]
struct World {
    before: BTreeMap<BString, CommitId>,
    symbolic_before: BTreeMap<BString, BString>,
    now: BTreeMap<BString, Ref>,
    journal: Vec<u8>,
    made_here: BTreeSet<CommitId>,
    /// True if the worktree's own branch is not there any more.
    is_own_gone: bool,
    files: Files,
}

/// What is only read where it is needed.
#[derive(Clone, Default)]
struct Files {
    logs: BTreeMap<BString, Vec<ReflogEntry>>,
    remotes: BTreeSet<String>,
    main: Option<OtherHead>,
    linked: Vec<OtherHead>,
    has_no_logs: bool,
}

impl RecordSource for Files {
    fn read_log(&self, name: &BStr) -> Vec<ReflogEntry> {
        self.logs.get(name).cloned().unwrap_or_default()
    }

    fn keeps_logs(&self) -> bool {
        !self.has_no_logs
    }

    fn is_remote(&self, name: &str) -> bool {
        self.remotes.contains(name)
    }

    fn read_main_head(&self) -> Option<OtherHead> {
        self.main.clone()
    }

    fn read_linked_heads(&self) -> Vec<OtherHead> {
        self.linked.clone()
    }
}

impl World {
    fn records(&self) -> RefRecords<'static> {
        let own = "refs/heads/agent/x";
        let mut now = self.now.clone();
        if !self.is_own_gone {
            let at_base = || Ref::new(own, commit("A"));
            now.entry(own.into()).or_insert_with(at_base);
        }
        RefRecords {
            branch: own.to_owned(),
            base: commit("A"),
            head_ref: Some(own.to_owned()),
            before: self.before.clone(),
            symbolic_before: self.symbolic_before.clone(),
            now,
            journal: Journal::parse(&self.journal),
            made_here: self.made_here.clone(),
            source: Box::new(self.files.clone()),
            cache: RecordCache::default(),
        }
    }

    fn add_before(&mut self, name: &str, state: &str) {
        let (target, id) = state_of(state);
        if let Some(target) = target {
            self.symbolic_before.insert(name.into(), target);
        }
        self.before.extend(id.map(|id| (BString::from(name), id)));
    }

    fn add_now(&mut self, name: &str, state: &str) {
        let (target, id) = state_of(state);
        if let Some(id) = id {
            let found = Ref {
                target,
                ..Ref::new(name, id)
            };
            self.now.insert(name.into(), found);
        }
    }

    fn add_journal(&mut self, own_name: &str, text: &str) {
        for line in text.split(", ").filter(|line| !line.is_empty()) {
            let (name, moved) = line.split_once(':').unwrap_or((own_name, line));
            let (old, new) = moved.split_once('>').expect("old>new");
            let line = format!("{} {} {name}\n", journaled(old), journaled(new));
            self.journal.extend(line.bytes());
        }
    }

    fn add_facts(&mut self, facts: &str) {
        for fact in facts.split("; ") {
            self.add_fact(fact);
        }
    }

    fn add_fact(&mut self, fact: &str) {
        let (word, rest) = fact.split_once(' ').unwrap_or((fact, ""));
        match word {
            "" => {}
            "made" => drop(self.made_here.insert(commit(rest))),
            "remote" => drop(self.files.remotes.insert(rest.to_owned())),
            "nologs" => self.files.has_no_logs = true,
            "gone" => self.is_own_gone = true,
            "agent" | "linked" => self.files.linked.push(OtherHead {
                branch: Some(rest.to_owned()),
                is_of_agent: word == "agent",
                ..OtherHead::default()
            }),
            "main" => {
                let (branch, entries) = rest.split_once(": ").expect("a branch and a log");
                self.files.main = Some(OtherHead {
                    branch: Some(branch.to_owned()),
                    log: log(&entries.replace(" / ", "; ")),
                    name: "main-worktree/HEAD".to_owned(),
                    ..OtherHead::default()
                });
            }
            _unknown => panic!("no fact: {fact}"),
        }
    }
}

fn commit(letter: &str) -> CommitId {
    assert_eq!(letter.len(), 1, "one letter: {letter}");
    CommitId::parse(&letter.to_lowercase().repeat(40)).expect("a letter from A to F")
}

fn journaled(place: &str) -> String {
    match place {
        "-" => "0".repeat(40),
        "@" => "ref:refs/heads/y".to_owned(),
        letter => commit(letter).to_string(),
    }
}

/// The target of a symbolic ref, and the commit.
fn state_of(state: &str) -> (Option<BString>, Option<CommitId>) {
    if state == "-" {
        return (None, None);
    }
    match state.strip_prefix('@') {
        Some(symbolic) => {
            let (target, id) = symbolic.split_once('=').expect("a target and a commit");
            (Some(target.into()), Some(commit(id)))
        }
        None => (None, Some(commit(state))),
    }
}

/// The newest entry comes first in what git reads.
fn log(text: &str) -> Vec<ReflogEntry> {
    let entries = text.split("; ").filter(|entry| !entry.is_empty());
    let mut log: Vec<ReflogEntry> = Vec::new();
    for entry in entries {
        let (id, reason) = entry.split_once(' ').unwrap_or((entry, ""));
        log.push(ReflogEntry {
            old: log.last().map(|older| older.id.clone()),
            id: commit(id),
            reason: reason.to_owned(),
        });
    }
    log.reverse();
    log
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [title, name, before, now, journal, entries, facts, origin] = cells[..] else {
        panic!("eight cells: {line}");
    };
    let mut world = World::default();
    world.add_before(name, before);
    world.add_now(name, now);
    world.add_journal(name, journal);
    if !entries.is_empty() {
        world.files.logs.insert(name.into(), log(entries));
    }
    // the log of another ref has semicolons of its own, and stands alone
    if let Some(other) = facts.strip_prefix("log ") {
        let (other, entries) = other.split_once('=').expect("a ref and its log");
        world.files.logs.insert(other.into(), log(entries));
    } else {
        world.add_facts(facts);
    }
    Row {
        title: title.to_owned(),
        name: name.into(),
        world,
        origin: origin.to_owned(),
    }
}

const fn mover(mover: Mover) -> &'static str {
    match mover {
        Mover::Here => "here",
        Mover::Unknown => "unknown",
    }
}

const fn since(since: Since) -> &'static str {
    match since {
        Since::Add => "add",
        Since::Later => "later",
    }
}

/// An origin as a row names it.
fn named(origin: &Origin) -> String {
    match origin {
        Origin::PushedHere {
            commit,
            since: came,
        } => {
            let letter = commit.as_str()[..1].to_uppercase();
            format!("PushedHere {letter} {}", since(*came))
        }
        Origin::RemoteMovedHere { since: came, .. } => format!("RemoteMovedHere {}", since(*came)),
        Origin::RemoteMovedPastLog { since: came } => {
            format!("RemoteMovedPastLog {}", since(*came))
        }
        Origin::SavedWorkLost { loss, mover: who } => {
            let loss = match loss {
                Loss::Deleted => "deleted",
                Loss::Replaced => "replaced",
            };
            format!("SavedWorkLost {loss} {}", mover(*who))
        }
        Origin::SymbolicRemoved { mover: who, .. } => format!("SymbolicRemoved {}", mover(*who)),
        Origin::SymbolicDetached { .. } => "SymbolicDetached".to_owned(),
        Origin::SymbolicRetargeted { mover: who, .. } => {
            format!("SymbolicRetargeted {}", mover(*who))
        }
        plain => format!("{plain:?}"),
    }
}

#[test]
fn each_record_of_a_ref_says_who_moved_it() {
    let mut wrong = Vec::new();
    let mut titles = BTreeSet::new();
    for line in ROWS.lines().filter(|line| !line.is_empty()) {
        let Row {
            title,
            name,
            world,
            origin,
        } = row(line);
        assert!(titles.insert(title.clone()), "two rows: {title}");
        let origins = attribute(&world.records());
        let found = origins.get(&name).map_or("none".to_owned(), named);
        if found != origin {
            wrong.push(format!("{title}: {found}, not {origin}"));
        }
    }
    assert!(titles.len() >= 120, "the table has {} rows", titles.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_ref_is_own_by_where_its_log_begins() {
    let name = "refs/heads/new";
    let renamed = "A clone: from x; C Branch: renamed refs/heads/dev to refs/heads/new";
    for (entries, journal, facts, is_own) in [
        ("A branch: Created; C commit: c", "->A", "made C", true),
        ("C commit: c", "->A", "made C", true),
        ("C commit: c", "->A", "", false),
        ("C commit (initial): c", "->A", "made C", false),
        ("", "->A", "", true),
        ("D branch: Created; C commit: c", "->A, ->-, ->D", "", true),
        (
            "D branch: Created; C commit: c",
            "->A, A>D",
            "made C",
            false,
        ),
        (renamed, "refs/heads/dev:A>-", "made C", true),
        (renamed, "refs/heads/dev:A>C", "made C", true),
        (renamed, "", "made C", true),
        (renamed, "", "", false),
    ] {
        let mut world = World::default();
        world.add_before("refs/heads/dev", "A");
        world.add_now(name, "C");
        world.add_journal(name, journal);
        world.add_fact(facts);
        world.files.logs.insert(name.into(), log(entries));
        let found = world.records().is_own(name.into());
        assert_eq!(found, is_own, "{entries} ({journal})");
    }
}

#[test]
fn a_place_of_the_own_upstream_is_pushed_by_its_log_or_made_here() {
    let name = "refs/remotes/origin/agent/x";
    for (entries, journal, facts, pushed) in [
        ("B update by push", "->B", "", "B"),
        ("B update by push; C update by push", "->B, B>C", "", "C"),
        ("B fetch origin: storing head", "->B", "made B", ""),
        ("", "->B", "made B", "B"),
        ("", "->B", "", ""),
        ("", "", "made B", ""),
        ("C update by push", "->B, B>C, C>B", "made B", "B"),
    ] {
        let mut world = World::default();
        world.add_journal(name, journal);
        world.add_fact(facts);
        world.files.logs.insert(name.into(), log(entries));
        let records = world.records();
        let found = records.last_pushed_place(name.into());
        let letter = found.map_or(String::new(), |one| one.as_str()[..1].to_uppercase());
        assert_eq!(letter, pushed, "{entries} ({journal})");
    }
}

#[test]
fn a_stash_is_known_by_its_entries() {
    for (before, log_of_stash, journal, expected) in [
        ("", "", "", StashOrigin::Unchanged),
        ("C", "C", "", StashOrigin::Unchanged),
        ("", "B On main: x", "->B", StashOrigin::MadeHere),
        ("C", "C; B", "C>B", StashOrigin::MadeHere),
        ("C", "C", "C>B", StashOrigin::Unchanged),
        ("C", "C", "C>B, B>C", StashOrigin::Unchanged),
        ("", "C", "", StashOrigin::Unchanged),
    ] {
        assert_eq!(stash(before, log_of_stash, journal), expected, "{journal}");
    }
    for (journal, mover) in [
        ("C>-", Mover::Here),
        ("->-", Mover::Here),
        ("", Mover::Unknown),
        // others dropped it before
        ("->B, ->D, B>-", Mover::Unknown),
    ] {
        let lost = StashOrigin::Lost { number: 1, mover };
        assert_eq!(stash("C", "", journal), lost);
    }
    let mover = Mover::Unknown;
    let replaced = StashOrigin::Lost { number: 1, mover };
    assert_eq!(stash("C", "B", "C>B"), replaced, "nothing was dropped");
}

#[test]
fn a_stash_that_was_not_the_last_can_be_lost() {
    let mut world = World::default();
    world.add_before("refs/stash", "C");
    world.add_before("refs/stash@{1}", "B");
    world.add_now("refs/stash", "C");
    let lost = StashOrigin::Lost {
        number: 1,
        mover: Mover::Unknown,
    };
    assert_eq!(world.records().stash_origin(), lost);
}

#[test]
fn a_ref_whose_name_begins_as_the_stash_does_is_no_stash() {
    let mut world = World::default();
    world.add_before("refs/stash-x", "C");
    world.add_before("refs/stashes/x", "B");
    world.add_now("refs/stash-x", "C");
    assert_eq!(world.records().stash_origin(), StashOrigin::Unchanged);
}

fn stash(before: &str, log_of_stash: &str, journal: &str) -> StashOrigin {
    let name = "refs/stash";
    let mut world = World::default();
    world.add_before("refs/heads/main", "A");
    if !before.is_empty() {
        world.add_before(name, before);
    }
    world.add_journal(name, journal);
    let entries = log(log_of_stash);
    if let Some(newest) = entries.first() {
        world
            .now
            .insert(name.into(), Ref::new(name, newest.id.clone()));
    }
    world.files.logs.insert(name.into(), entries);
    world.records().stash_origin()
}

#[test]
fn commits_that_the_journal_does_not_have_were_made_past_the_hooks() {
    let branch = "refs/heads/agent/x";
    for (entries, journal, expected) in [
        ("A branch: Created; B commit: b", "HEAD:A>B, A>B", ""),
        ("A branch: Created; B commit: b", "A>B", ""),
        ("A branch: Created; B commit: b", "HEAD:A>B", ""),
        ("A branch: Created; B commit: b", "", "B"),
        ("B commit: b; C commit: c", "HEAD:A>B, A>B", "C"),
        ("B commit: b; C commit: c", "", "CB"),
        (
            "A branch: Created; B commit: b; A reset: moving to A; B reset: moving to B",
            "HEAD:A>B",
            "B",
        ),
        (
            "A branch: Created; B commit: b; A reset: moving to A; B reset: moving to B",
            "HEAD:A>B, HEAD:B>A, HEAD:A>B",
            "",
        ),
        (
            "C checkout: moving from agent/x to side; D commit: d",
            "refs/heads/side:C>D",
            "",
        ),
        ("C checkout: moving from agent/x to C; D commit: d", "", "D"),
        // a checkout is in the log, and not always in the journal
        (
            "B commit: b; A checkout: moving from agent/x to main; B checkout: moving from main to \
             agent/x",
            "HEAD:A>B, A>B",
            "",
        ),
        // of one move, git may report that of HEAD and that of the branch
        (
            "A branch: Created; B commit: b; A reset: moving to A; B reset: moving to B",
            "HEAD:A>B, A>B",
            "B",
        ),
        ("B commit: b; C commit: c", "HEAD:A>B, A>B, B>C", ""),
        // git before 2.55 does not tell where HEAD was
        ("A branch: Created; B commit: b", "HEAD:->B, A>B", ""),
        (
            "A branch: Created; B commit: b; A reset: a; B reset: b",
            "HEAD:->B, A>B",
            "B",
        ),
        // a first commit, and what a command that is not of git brought
        ("B commit (initial): b", "HEAD:->B, ->B", ""),
        ("B commit (initial): b", "", "B"),
        ("A branch: Created; B stg push", "->B", ""),
        ("A branch: Created; B commit: b", "->B", "B"),
        // the subject of a commit names no branch that HEAD was on
        (
            "A branch: Created; B commit: like refs/heads/y",
            "refs/heads/y:A>B",
            "B",
        ),
        (
            "A branch: Created; B commit: b; B rebase (finish): returning to refs/heads/y",
            "refs/heads/y:A>B",
            "",
        ),
        // what moves nothing was no commit
        ("A branch: Created; B commit: b; B", "HEAD:->B, B>B", "B"),
        ("A branch: Created; B commit: b; B", "HEAD:->B, ->B", "B"),
        ("A branch: Created; B commit: b", "HEAD:B>B", "B"),
        // a detached checkout, and a branch that begins there
        (
            "A branch: Created; B commit: b; B checkout: moving from agent/x to B",
            "HEAD:->B",
            "B",
        ),
        (
            "A branch: Created; B commit: b; B checkout: moving from agent/x to side",
            "refs/heads/side:->B",
            "B",
        ),
        // another branch
        ("A branch: Created; B commit: b", "refs/heads/side:A>B", "B"),
        // a commit on a detached HEAD, where a branch begins then
        (
            "A checkout: moving from x to A; B commit: b; B checkout: moving from B to side",
            "HEAD:A>B, refs/heads/side:->B",
            "",
        ),
        // HEAD's own branch, told by the line of HEAD before it only
        (
            "A branch: Created; B commit: b",
            "HEAD:->B, refs/heads/other:A>B",
            "",
        ),
        // a reset to where HEAD is logs a move that is none
        (
            "A branch: Created; B commit: b; B reset: moving to HEAD",
            "HEAD:->B, A>B, HEAD:->B, B>B",
            "",
        ),
        // a merge that only goes forward
        (
            "A branch: Created; B commit: b; A reset: a; B merge B: Fast-forward",
            "B>A, A>B",
            "B",
        ),
        ("A branch: Created; B commit: b; A; B", "B>A, ->B", "B"),
        ("A branch: Created; B commit: b; A; B", "A>B, B>A, ->B", ""),
        // a commit that is picked past the hooks, and a checkout of it
        (
            "A branch: Created; B cherry-pick: b; B checkout: moving from agent/x to B",
            "HEAD:->B",
            "B",
        ),
        // another move that ends there
        (
            "A branch: Created; B commit: b; C commit: c; B reset: moving to B",
            "A>B, B>C, refs/heads/new:->B, HEAD:->@",
            "",
        ),
        (
            "A branch: Created; B commit: b; C commit (amend): c; \
             C rebase (finish): returning to refs/heads/agent/x",
            "HEAD:A>B, A>C",
            "C",
        ),
        // a fetch into the branch that HEAD is on tells of the branch first
        (
            "A branch: Created; B commit: b; A reset: a; B fetch . b:agent/x",
            "B>A, A>B, HEAD:A>B",
            "B",
        ),
        // a branch that is checked out by a rebase of it with nothing to do
        ("A branch: Created; B rebase: checkout side", "", ""),
        // a rebase goes through the commits by itself, and leaves the branch where it was
        (
            "A branch: Created; B commit: b; A rebase (start): checkout A; B rebase: fast-forward; \
             B rebase (finish): returning to refs/heads/agent/x",
            "HEAD:->B, A>B, HEAD:B>A, HEAD:A>B, B>B",
            "",
        ),
        (
            "A branch: Created; B commit: b; A rebase (start): checkout A; B rebase: fast-forward",
            "A>B, HEAD:B>A, HEAD:A>B",
            "",
        ),
        (
            "A branch: Created; B commit: b; A rebase (start): checkout A; B rebase (reset): 'onto'",
            "A>B, HEAD:B>A, HEAD:->B",
            "",
        ),
    ] {
        let mut world = World::default();
        world.add_journal(branch, journal);
        let journal = Journal::parse(&world.journal);
        let silent = commits_past_hooks(&log(entries), Some(branch), branch, &journal);
        let letters = silent.iter().map(|one| one.as_str()[..1].to_uppercase());
        assert_eq!(letters.collect::<String>(), expected, "{entries}");
    }
}
