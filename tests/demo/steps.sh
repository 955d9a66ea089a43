# Steps that say what they do, how far they are and what they took. To be read by a script that has set `log`, a folder.
# shellcheck shell=bash disable=SC2154 # log

took=()                      # a row `MILLISECONDS|TITLE` for every step that has ended
running=()                   # process groups of the steps that have not
started=${EPOCHREALTIME/[.,]/}
now=0                        # milliseconds since the start, as of the last `tick`
heartbeat=10000              # milliseconds between two signs of life of a long step
colour=$([[ -t 1 ]] && printf '\e[1m' || true) plain=$([[ -t 1 ]] && printf '\e[0m' || true)

tick() {
    local time=${EPOCHREALTIME/[.,]/}
    now=$(((time - started) / 1000))
}

# 12345 -> 12.3
seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

say() {
    tick
    printf '%s%6s s  %s%s\n' "$colour" "$(seconds "$now")" "$*" "$plain"
}

fail() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}

stop_running() {
    local group
    for group in "${running[@]}"; do kill -TERM -- "-$group" 2>/dev/null || true; done
}
trap stop_running EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# together 'TITLE|FUNCTION'...: runs the functions at once and returns when all have ended. Their output goes to
# $log/FUNCTION.log; of one that fails the end is shown, and the script ends.
together() {
    local item function
    local -A title=() since=()
    for item in "$@"; do
        function=${item#*|}
        say "${item%|*}"
        # A group of its own, so that it can be ended with all that it started.
        set -m
        (set -euo pipefail; trap - EXIT; "$function") >"$log/$function.log" 2>&1 </dev/null &
        set +m
        running+=($!)
        title[$!]=$item
        since[$!]=$now
    done
    wait_for_all
}

# Uses `title` and `since` of its caller.
wait_for_all() {
    local pid alive last_sign=$now
    while [[ ${#running[@]} -gt 0 ]]; do
        sleep 0.1
        tick
        alive=()
        for pid in "${running[@]}"; do
            if kill -0 "$pid" 2>/dev/null; then alive+=("$pid"); else ended "$pid"; fi
        done
        running=("${alive[@]}")
        if ((now - last_sign >= heartbeat)); then
            last_sign=$now
            for pid in "${running[@]}"; do sign_of_life "$pid"; done
        fi
    done
}

ended() {
    local pid=$1 name=${title[$1]%|*} function=${title[$1]#*|}
    if ! wait "$pid"; then
        tail -n 30 "$log/$function.log" | sed 's/^/    /' >&2
        fail "could not $name; all of its output is in $log/$function.log"
    fi
    took+=("$((now - since[$pid]))|$name")
    say "    done: $name"
}

# The last line that a step has printed.
sign_of_life() {
    local name=${title[$1]%|*} line
    line=$(tail -c 400 "$log/${title[$1]#*|}.log" | tr '\r' '\n' | grep -v '^ *$' | tail -n 1 | cut -c 1-90 || true)
    printf '%8s    %s, for %d s: %s\n' '' "$name" $(((now - since[$1]) / 1000)) "$line"
}
