#!/usr/bin/env bash
# A real Slurm of one node, for tests: slurmctld, slurmd and munged with configuration, state, ports and logs of their own.
#
#   eval "$(tools/slurm_testbed.sh up [DIR])"     starts it, and prints the environment to use
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
#
# Needs Debian's slurm-wlm and munge, which only `install` installs; the daemons need no root, no systemd, no cgroups, no
# accounting. The packages stay after `down`; nothing else does.
# Exit status: 0, 1 something failed, 2 usage, 3 down (status), 69 Slurm cannot be had on this machine.
set -euo pipefail

say() { echo "slurm_testbed: $*" >&2; }
die() { local status=$1; shift; say "$@"; exit "$status"; }

dir=${2:-${TMPDIR:-/tmp}/tooleval-slurm-$(id -u)}
mark=tooleval-slurm-testbed
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

write_config() {
    local cpus=${TOOLEVAL_SLURM_CPUS:-$(nproc)} gpus=${TOOLEVAL_SLURM_GPUS:-8} user host
    user=$(id -un) host=$(hostname)
    # Slurm wants a device for each GPU, and is content with any.
    mkdir "$dir/gpus"
    seq -f "$dir/gpus/gpu%g" 0 $((gpus - 1)) | xargs -n 1 ln -s /dev/null
    echo "Name=gpu File=$dir/gpus/gpu[0-$((gpus - 1))]" >"$dir/gres.conf"
    cat >"$SLURM_CONF" <<CONF
ClusterName=tooleval
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
# A requeued job waits for cred_expire seconds (120 by default) before it may start again.
AuthInfo=socket=$dir/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
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
NodeName=testbed NodeHostname=$host NodeAddr=127.0.0.1 CPUs=$cpus Gres=gpu:$gpus State=UNKNOWN
# Jobs of 'urgent' push others out: those of 'main' are queued again, those of 'frail' end.
PartitionName=main Nodes=testbed Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=frail Nodes=testbed MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=CANCEL
PartitionName=urgent Nodes=testbed MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
CONF
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

is_idle() { timeout 10 sinfo --noheader --nodes=testbed --format=%T 2>/dev/null | grep -qx 'idle\|mixed\|allocated'; }

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

up() {
    has_slurm || die 69 'slurm-wlm and munge are not installed; root installs them with: tools/slurm_testbed.sh install'
    if [ -e "$dir" ]; then
        [ -e "$dir/$mark" ] || die 1 "$dir is here already and is no testbed"
        answers && die 1 "a testbed is up in $dir"
        down
    fi
    mkdir -p -m 755 "$dir"
    dir=$(cd "$dir" && pwd -P)
    export SLURM_CONF=$dir/slurm.conf
    mkdir "$dir/state" "$dir/spool"
    touch "$dir/$mark"
    trap failed EXIT
    write_config
    dd if=/dev/urandom of="$dir/munge.key" bs=1024 count=1 status=none
    chmod 400 "$dir/munge.key"
    start munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munge.pid" \
        --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
    start slurmctld -f "$SLURM_CONF"
    start slurmd -N testbed -f "$SLURM_CONF"
    wait_for slurmctld answers
    wait_for slurmd is_idle
    trap - EXIT
    echo "export SLURM_CONF=$dir/slurm.conf"
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
    rm -rf "$dir"
}

case ${1:-} in
    up) up ;;
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
