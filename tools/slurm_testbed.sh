#!/usr/bin/env bash
# A real Slurm for tests: slurmctld, slurmd and munged with configuration, state, ports and logs of their own.
#
#   eval "$(tools/slurm_testbed.sh up [DIR])"     starts one of one node, and prints the environment to use
#   eval "$(tools/slurm_testbed.sh nodes N [DIR])"  starts one of N nodes (1 to 9), each in a network namespace; needs root
#   tools/slurm_testbed.sh node NAME [DIR]        starts the slurmd of one of these nodes again
#   tools/slurm_testbed.sh status [DIR]           says whether it answers
#   tools/slurm_testbed.sh stop|start [DIR]       ends and starts slurmctld, as a cluster's maintenance does
#   tools/slurm_testbed.sh install                installs Debian's slurm-wlm and munge; needs root and apt-get
#   tools/slurm_testbed.sh down [DIR]             cancels what runs, ends the daemons, removes DIR
#
# DIR is by default tooleval-slurm-UID below $TMPDIR or /tmp. Settings, read by `up`:
#   TOOLEVAL_SLURM_CPUS    processors that the node declares, whatever it has (16: sleeping tasks overlap)
#   TOOLEVAL_SLURM_GPUS    GPUs that it declares; none is used (8)
#   TOOLEVAL_SLURM_ARRAY   MaxArraySize (1001, Slurm's own default)
#   TOOLEVAL_SLURM_AGE     MinJobAge, seconds that Slurm remembers a job that has ended (300, its own default)
#   TOOLEVAL_SLURM_SCHEDULER  SchedulerParameters (batch_sched_delay=3, its own default; 0 starts jobs sooner)
#   TOOLEVAL_SLURM_WAIT    seconds that `nodes` waits for another testbed of several nodes to end (1800)
#
# `nodes` makes one bridge with a network namespace, a local disk (DIR/local, a tmpfs of 16 MB) and an address per node:
# n1 is 10.213.7.11. The first half of the nodes has 4 GPUs of kind h100 each, the others 2 of kind a100. This host is the
# login node. Lines of DIR/env.NAME, such as 'export FAKETIME=+60', are added to the environment of jobs on that node.
# One such testbed is up at a time: it holds a lock until `down`.
#
# Needs Debian's slurm-wlm and munge, which only `install` installs; the daemons need no root, no systemd, no cgroups, no
# accounting. The packages stay after `down`; nothing else does.
# Exit status: 0, 1 something failed, 2 usage, 3 down (status), 69 Slurm cannot be had on this machine, 75 another testbed
# of several nodes is up.
set -euo pipefail

say() { echo "slurm_testbed: $*" >&2; }
die() { local status=$1; shift; say "$@"; exit "$status"; }

case ${1:-} in nodes | node) dir=${3:-} ;; *) dir=${2:-} ;; esac
dir=${dir:-${TMPDIR:-/tmp}/tooleval-slurm-$(id -u)}
mark=tooleval-slurm-testbed
net=10.213.7
lock=/run/lock/tooleval-slurm-nodes.lock
PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF=$dir/slurm.conf

has_slurm() {
    local name
    for name in sbatch slurmctld slurmd munged; do command -v $name >/dev/null || return 1; done
}

install_slurm() {
    has_slurm && return
    [ "$(id -u)" = 0 ] || die 69 'slurm-wlm and munge are not installed, and installing them needs root'
    command -v apt-get >/dev/null || die 69 'slurm-wlm and munge are not installed, and there is no apt-get'
    say 'installing slurm-wlm and munge'
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # The list of packages is fetched only if the one that is here will not do.
    local apt=(timeout 600 apt-get -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
    local install=("${apt[@]}" install -y --no-install-recommends slurm-wlm munge)
    if ! { "${install[@]}" || { "${apt[@]}" update && "${install[@]}"; }; } >"$log" 2>&1 </dev/null; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        die 69 'apt-get could not install slurm-wlm and munge'
    fi
    rm -f "$log"
    has_slurm || die 69 'slurm-wlm and munge are installed, but sbatch, slurmctld, slurmd or munged is missing'
}

free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (: </dev/tcp/127.0.0.1/$port) 2>/dev/null || { echo $port; return; }
    done
}

# write_config ADDRESS NODES LINE...: the nodes and what is true of each are in the lines.
write_config() {
    local address=$1 nodes=$2 user
    shift 2
    user=$(id -un)
    cat >"$SLURM_CONF" <<CONF
ClusterName=tooleval
SlurmctldHost=$(hostname)($address)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
# A requeued job waits for cred_expire seconds (120 by default) before it may start again.
AuthInfo=socket=$dir/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SlurmdParameters=config_overrides
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=2
SchedulerParameters=${TOOLEVAL_SLURM_SCHEDULER:-batch_sched_delay=3}
MaxArraySize=${TOOLEVAL_SLURM_ARRAY:-1001}
# A command gives up on a controller that is away after this many seconds, not 10.
MessageTimeout=5
MinJobAge=${TOOLEVAL_SLURM_AGE:-300}
$(printf '%s\n' "$@")
# Jobs of 'urgent' push others out: those of 'main' are queued again, those of 'frail' end.
PartitionName=main Nodes=$nodes Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=frail Nodes=$nodes MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL
PartitionName=urgent Nodes=$nodes MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
CONF
}

# Slurm wants a device for each GPU, and is content with any.
make_gpus() {
    mkdir "$dir/gpus"
    seq -f "$dir/gpus/gpu%g" 0 $(($1 - 1)) | xargs -n 1 ln -s /dev/null
}

write_one_node() {
    local cpus=${TOOLEVAL_SLURM_CPUS:-$(nproc)} gpus=${TOOLEVAL_SLURM_GPUS:-8}
    make_gpus "$gpus"
    echo "Name=gpu File=$dir/gpus/gpu[0-$((gpus - 1))]" >"$dir/gres.conf"
    write_config 127.0.0.1 testbed "SlurmdSpoolDir=$dir/spool" "SlurmdPidFile=$dir/slurmd.pid" \
        "SlurmdLogFile=$dir/slurmd.log" \
        "NodeName=testbed NodeHostname=$(hostname) NodeAddr=127.0.0.1 CPUs=$cpus Gres=gpu:$gpus State=UNKNOWN"
}

write_nodes() {
    local count=$1 i gres cpus=${TOOLEVAL_SLURM_CPUS:-16} lines=()
    make_gpus 4
    for i in $(seq "$count"); do
        gres=a100:2
        [ $((2 * i)) -gt $((count + 1)) ] || gres=h100:4
        echo "NodeName=n$i Name=gpu Type=${gres%:*} File=$dir/gpus/gpu[0-$((${gres#*:} - 1))]" >>"$dir/gres.conf"
        lines+=("NodeName=n$i NodeHostname=$(hostname) NodeAddr=$net.$((10 + i)) CPUs=$cpus Gres=gpu:$gres State=UNKNOWN")
    done
    # A node that does not answer is down after SlurmdTimeout seconds (300 by default), and its jobs are queued again.
    write_config "$net.1" "n[1-$count]" "SlurmdSpoolDir=$dir/local/spool" "SlurmdPidFile=$dir/%n.pid" \
        "SlurmdLogFile=$dir/%n.log" "SlurmdTimeout=15" "TaskProlog=$dir/task_prolog.sh" "${lines[@]}"
    printf '#!/bin/sh\ncat "%s/env.$SLURMD_NODENAME" 2>/dev/null || true\n' "$dir" >"$dir/task_prolog.sh"
    chmod 755 "$dir/task_prolog.sh"
}

# Started with an environment of its own choosing: jobs must take theirs from sbatch.
start() { (cd "$dir" && setsid "$@" </dev/null >>"$dir/daemons.log" 2>&1) || die 1 "$1 did not start"; }

answers() { timeout 10 scontrol ping 2>/dev/null | grep -q ' is UP'; }

wait_for() {
    local what=$1 tries=150
    shift
    until "$@"; do
        ((tries--)) || die 1 "$what did not come up within 30 s"
        sleep 0.2
    done
}

# are_idle NODES: all of them.
are_idle() {
    local states
    states=$(timeout 10 sinfo --noheader --nodes="$1" --format=%T 2>/dev/null) && [ -n "$states" ] &&
        ! grep -qvx 'idle\|mixed\|allocated' <<<"$states"
}

stop() {
    local signal=$1 name=$2 pid
    pid=$(cat "$dir/$name.pid" 2>/dev/null) || return 0
    # A process id outlives its process: only one that belongs to this folder is ended.
    grep -qsz "$dir" "/proc/$pid/cmdline" "/proc/$pid/environ" || return 0
    kill "-$signal" "$pid" 2>/dev/null || return 0
    for _ in $(seq 100); do
        # Not `kill -0`: the init of a container may be slow to bury the dead.
        grep -qs '^State:.[^ZX]' "/proc/$pid/status" || return 0
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
}

failed() {
    tail -n 5 "$dir"/*.log >&2 || true
    down
}

make_folder() {
    has_slurm || die 69 'slurm-wlm and munge are not installed; root installs them with: tools/slurm_testbed.sh install'
    if [ -e "$dir" ]; then
        [ -e "$dir/$mark" ] || die 1 "$dir is here already and is no testbed"
        answers && die 1 "a testbed is up in $dir"
        down
    fi
    mkdir -p -m 755 "$dir"
    dir=$(cd "$dir" && pwd -P)
    export SLURM_CONF=$dir/slurm.conf
    mkdir "$dir/state" "$dir/spool" "$dir/local"
    touch "$dir/$mark"
    trap failed EXIT
}

start_controller() {
    dd if=/dev/urandom of="$dir/munge.key" bs=1024 count=1 status=none
    chmod 400 "$dir/munge.key"
    start munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munge.pid" \
        --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
    start slurmctld -f "$SLURM_CONF"
}

ready() {
    wait_for slurmctld answers
    wait_for slurmd are_idle "$1"
    trap - EXIT
    echo "export SLURM_CONF=$dir/slurm.conf"
}

up() {
    make_folder
    write_one_node
    start_controller
    start slurmd -N testbed -f "$SLURM_CONF"
    ready testbed
}

can_make_nodes() {
    local name
    [ "$(id -u)" = 0 ] || return 1
    for name in ip nsenter unshare flock; do command -v $name >/dev/null || return 1; done
    ip link add tooleval-try type bridge 2>/dev/null && ip link del tooleval-try
}

# A process that waits holds the lock, and ends with the testbed.
take_lock() {
    exec 9>>"$lock"
    flock --timeout "${TOOLEVAL_SLURM_WAIT:-1800}" 9 ||
        die 75 "a testbed of several nodes is up; it ends with: tools/slurm_testbed.sh down $(tail -n 1 "$lock")"
    echo "$dir" >"$lock"
    setsid sleep infinity </dev/null >/dev/null 2>&1 &
    echo $! >"$dir/lock.pid"
    exec 9>&-
}

start_node() {
    local mounts="mount -t tmpfs -o size=16m,mode=755 tooleval '$dir/local' && mkdir '$dir/local/spool'"
    start nsenter --net="/run/netns/tooleval-$1" unshare --mount \
        bash -c "$mounts && exec slurmd -N '$1' -f '$SLURM_CONF'"
}

nodes() {
    local count=$1 i
    can_make_nodes || die 69 'network namespaces cannot be made here: they need root, iproute2 and util-linux'
    make_folder
    take_lock
    remove_nodes
    ip link add tooleval0 type bridge
    ip addr add "$net.1/24" dev tooleval0
    ip link set tooleval0 up
    for i in $(seq "$count"); do
        ip netns add "tooleval-n$i"
        ip link add "tooleval-n$i" type veth peer name eth0 netns "tooleval-n$i"
        ip link set "tooleval-n$i" master tooleval0 up
        ip -n "tooleval-n$i" addr add "$net.$((10 + i))/24" dev eth0
        ip -n "tooleval-n$i" link set eth0 up
        ip -n "tooleval-n$i" link set lo up
    done
    write_nodes "$count"
    start_controller
    for i in $(seq "$count"); do start_node "n$i"; done
    ready "n[1-$count]"
}

# Ends all processes of the nodes, and removes the nodes.
remove_nodes() {
    local name
    for name in $(ip netns list | grep -o '^tooleval-n[0-9]*'); do
        for _ in $(seq 50); do
            ip netns pids "$name" | xargs -r kill -KILL 2>/dev/null || true
            [ -n "$(ip netns pids "$name")" ] || break
            sleep 0.1
        done
        ip link del "$name" 2>/dev/null || true
        ip netns del "$name"
    done
    ip link del tooleval0 2>/dev/null || true
}

down() {
    [ -e "$dir" ] || return 0
    [ -e "$dir/$mark" ] || die 1 "$dir is no testbed"
    dir=$(cd "$dir" && pwd -P)
    if answers; then
        timeout 20 scancel --ctld --user="$(id -un)" 2>/dev/null || true
        for _ in $(seq 100); do
            [ -n "$(timeout 10 squeue --noheader 2>/dev/null)" ] || break
            sleep 0.1
        done
    fi
    # slurmctld takes 5 s to save what is thrown away here.
    stop TERM slurmd
    stop KILL slurmctld
    stop TERM munge
    if [ -e "$dir/lock.pid" ]; then
        remove_nodes
        stop TERM lock
    fi
    rm -rf "$dir"
}

case ${1:-} in
    up) up ;;
    nodes) [[ ${2:-} =~ ^[1-9]$ ]] || die 2 'nodes takes a number from 1 to 9'; nodes "$2" ;;
    node) start_node "$2" ;;
    install) install_slurm ;;
    down) down ;;
    status) if answers; then say "up in $dir"; else say "down ($dir)"; exit 3; fi ;;
    stop) stop TERM slurmctld ;;
    start)
        start slurmctld -f "$SLURM_CONF"
        wait_for slurmctld answers
        ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
esac
