stopped= id= pid=
began=$(date +%s)
stop() {
    stopped=1
    kill -TERM $pid 2>/dev/null
    (sleep $grace; kill -KILL $pid 2>/dev/null) &
}
trap stop TERM
run() {
    [ -e "$folder/$name.stop" ] && exit 1
    rm -f "$folder/$name.exit"
    { cd "${TMPDIR:-/tmp}" && worker; } >>"$folder/$name.log" 2>&1 &
    pid=$!
    while :; do
        wait $pid
        status=$?
        kill -0 $pid 2>/dev/null || break
    done
    case " $final 0 " in *" $status "*) [ -n "$id" ] && scancel --state=PENDING "$id" ;; esac
    echo $status >"$folder/$name.exit.new" && mv "$folder/$name.exit.new" "$folder/$name.exit"
}
take() {
    # What is taken is run. Nobody replaces the working directory between test and use.
    cd "$folder" && [ -O . ] && [ -z "$(find . -maxdepth 0 -perm /022)" ] || return 1
    for file in *.next-$shape; do
        other=${file%%.*}
        [ -O "$file" ] && [ ! -L "$file" ] || continue # not written by this user
        mv "$file" "./$other.taken" 2>/dev/null || continue
        . "./$other.taken"
        # Slurm looks for the name among the running jobs when it gets the dependency, so the
        # name comes first.
        scontrol update JobId="$SLURM_JOB_ID" JobName="$other" Comment="$address" Requeue=0 || return 1
        scontrol update JobId="$id" Dependency=singleton >/dev/null 2>&1 || continue
        name=$other
        return 0
    done
    return 1
}
[ "${SLURM_JOB_NAME:-$name}" = "$name" ] || exit 0
if [ "${SLURM_RESTART_COUNT:-0}" -gt $retries ]; then
    echo "started $SLURM_RESTART_COUNT times, by preemptions or lost nodes: retries allows $retries"
    exit 1
fi
rm -f "$folder/$name.next-$shape"
run
while [ $status = 0 ] && [ -z "$stopped" ] && [ $(($(date +%s) - began)) -lt $stay ] && take; do
    run
done
case " $final 0 " in *" $status "*) exit $status ;; esac
[ -n "$preemptible" ] && [ ! -e "$folder/$name.stop" ] && stopped= # by Slurm, which may want the node
if [ -z "$stopped" ] && [ -z "$id" ] && [ "${SLURM_RESTART_COUNT:-0}" -lt $retries ]; then
    scontrol requeue "$SLURM_JOB_ID" && exec sleep 600 # a shell would print how it ended
fi
exit $status
