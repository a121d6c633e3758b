#!/bin/sh
# A gate for a pull request: is HEAD slower than the branch that it goes to?
#
#   gate.sh BASE BUILD BENCH
#   gate.sh origin/main 'make -s' ./bench
#
# BUILD makes a commit, BENCH runs for 0.1 to 2 s and does what users wait for. Exit status 0: not
# slower, or that cannot be told; 4: slower; 3: a commit cannot be built or BENCH fails; 2: no such
# commit. comparison.json says how sure that is, and what difference would have been seen (mde).
set -u
[ $# = 3 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }

hotlap compare "git:$1" git:HEAD --build "$2" --command "$3" \
    --margin 2 --pairs "${PAIRS:-100}" --max-time 120 --fail-if slower --json > comparison.json
status=$?

case $status in
  0) echo "gate: HEAD is not slower than $1" ;;
  4) echo "gate: HEAD is slower than $1: see comparison.json" ;;
  *) echo "gate: could not compare HEAD with $1 (status $status)" ;;
esac
exit $status
