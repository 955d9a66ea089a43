# Following one MPIJob. To be read by a script that has read steps.sh and has set `job`, its name, and `kube`, kubectl.
# shellcheck shell=bash disable=SC2154 # job, log, now

outcome=                     # how the job ended, or why nobody knows
succeeded_after=0            # milliseconds from apply to Succeeded
patience=300000              # milliseconds until a job counts as stuck; it takes about 5000
declare -A shown=()          # by object: its state when it was last printed

# follow FILE: applies it and prints what changes until the job has ended. Exit code 0: it has succeeded.
follow() {
    local file=$1 applied changes kind line
    tick
    applied=$now
    kube apply -f "$file" || { outcome="kubectl apply -f $file was refused" && return 1; }
    rm -f "$log/changes"
    mkfifo "$log/changes"
    exec {changes}<>"$log/changes"
    set -m
    watch_all "$(kube get mpijob "$job" -o 'jsonpath={.metadata.uid}')" >"$log/changes" 2>/dev/null </dev/null &
    set +m
    running+=($!)
    while [[ -z $outcome ]]; do
        if read -r -t 1 -u "$changes" kind line; then
            tick
            "on_$kind" $((now - applied)) "$line"
        fi
        tick
        ((now - applied < patience)) || outcome="it has not ended within $((patience / 1000)) s"
    done
    exec {changes}<&-
    stop_running
    wait || true
    running=()
    [[ $outcome == Succeeded ]]
}

# Prints a line at the start and with every change: `pod NAME STATE`, `job CONDITIONS` or `event REASON: MESSAGE`.
# Go templates: kubectl ends a watch without a word where a JSONPath meets a field that is not there yet.
watch_all() {
    local pod='pod {{.metadata.name}} {{.status.phase}}'
    pod+='{{range .spec.schedulingGates}}, held back by gate {{.name}}{{end}}'
    pod+='{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "True")}}, Ready{{end}}{{end}}'
    pod+='{{if .metadata.deletionTimestamp}}, terminating{{end}}{{"\n"}}'
    local condition='{{range .status.conditions}}{{.type}}={{.status}} {{end}}'
    watch mpijob "$job" -o "go-template=job $condition{{\"\\n\"}}" &
    watch pods -l "training.kubeflow.org/job-name=$job" -o "go-template=$pod" &
    watch events --field-selector "involvedObject.uid=$1" -o 'go-template=event {{.reason}}: {{.message}}{{"\n"}}' &
    wait
}

# kubectl writes a line in pieces, which would mix with those of others; grep writes it as a whole.
watch() { kube get --watch "$@" | grep --line-buffered .; }

on_pod() {
    change "$1" "pod ${2%% *}" "${2#* }"
}

on_event() { change "$1" event "$2"; }

on_job() {
    local condition type
    for condition in $2; do
        type=${condition%=*}
        change "$1" "MPIJob $job" "$condition" "$type"
    done
    case $2 in
        *Succeeded=True*) outcome=Succeeded succeeded_after=$1 ;;
        *Failed=True*) outcome='its condition Failed is True' ;;
        *Accepted=False*) outcome='its condition Accepted is False' ;;
    esac
}

# Prints a state once, with seconds since apply. A fourth word tells apart the states that one object has at once.
change() {
    local key="$2 ${4:-}"
    [[ ${shown[$key]:-} != "$3" ]] || return 0
    shown[$key]=$3
    printf '%8s s  %-22s %s\n' "+$(seconds "$1")" "$2" "$3"
}
