status=$1 pid=$2; shift 2
"$@" 3>&- &
trap : TERM
echo $! >"$pid.new"; mv "$pid.new" "$pid"
wait $!; code=$?
while kill -0 $! 2>/dev/null; do wait $!; code=$?; done
echo $code >"$status.new"; mv "$status.new" "$status"
