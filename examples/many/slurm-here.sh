#!/bin/sh
# A Slurm of several nodes on this one machine, to try plans with: no root, no munge, nothing outside its directory.
#
#   slurm-here.sh start DIRECTORY [NODES]   starts it; then: export SLURM_CONF=DIRECTORY/slurm.conf
#   slurm-here.sh kill DIRECTORY NODE       ends a node, as if it had crashed: its job steps too
#   slurm-here.sh revive DIRECTORY NODE     starts it again
#   slurm-here.sh stop DIRECTORY            ends everything that was started
#
# Needs slurmctld, slurmd and the client commands (Debian: slurmctld slurmd slurm-client).
set -eu
PATH=$PATH:/usr/sbin:/sbin
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
what=$1
mkdir -p "$2"
here=$(cd "$2" && pwd)
case $here in *[[:space:]%]*) echo "$here: Slurm's configuration takes no names with blanks or %" >&2; exit 2 ;; esac
export SLURM_CONF="$here/slurm.conf"

# Starts the daemon of a node. It has a process group of its own, so that what it starts can be ended with it.
node() {
  mkdir -p "$here/$1"
  setsid slurmd -D -N "$1" >>"$here/$1/daemon.log" 2>&1 &
  echo $! >"$here/$1/pid"
}

# Ends a process and everything that descends from it.
tree() {
  for child in $(ps -o pid= --ppid "$1" 2>/dev/null); do tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}

# Workers run under slurmstepd, which leaves the daemon: they are found by their node.
end_node() {
  [ -f "$here/$1/pid" ] && tree "$(cat "$here/$1/pid")"
  for process in /proc/[0-9]*; do
    variables=$(cat "$process/environ" 2>/dev/null | tr '\0' '\n') || continue
    if echo "$variables" | grep -qx "SLURM_CONF=$SLURM_CONF" && echo "$variables" | grep -qx "SLURMD_NODENAME=$1"; then
      kill -KILL "${process#/proc/}" 2>/dev/null || true
    fi
  done
  rm -f "$here/$1/pid"
}

case $what in
start)
  nodes=${3:-4}
  command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v sbatch >/dev/null || {
    echo "slurmctld, slurmd or sbatch is not installed" >&2
    exit 1
  }
  base=$((20000 + $$ % 20000))
  mkdir -p "$here/state"
  host=$(hostname -s)
  cpus=$(nproc)
  cat >"$SLURM_CONF" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/%n
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/%n/slurmd.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/%n/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0,requeue_delay=0
SlurmdTimeout=10
InactiveLimit=0
KillWait=5
MinJobAge=300
ReturnToService=2
JobRequeue=1
MaxArraySize=10001
MaxJobCount=20000
CONF
  number=1
  while [ $number -le "$nodes" ]; do
    # More processors than there are: these nodes share them.
    echo "NodeName=node$number NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + number)) CPUs=$cpus State=UNKNOWN" >>"$SLURM_CONF"
    number=$((number + 1))
  done
  echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$SLURM_CONF"
  setsid slurmctld -D -c >>"$here/slurmctld.log" 2>&1 &
  echo $! >"$here/controller.pid"
  number=1
  while [ $number -le "$nodes" ]; do
    node "node$number"
    number=$((number + 1))
  done
  tries=0
  until [ "$(sinfo -h -t idle -o %D 2>/dev/null | head -1)" = "$nodes" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 120 ]; then
      echo "Slurm did not start; see $here/slurmctld.log" >&2
      "$0" stop "$here"
      exit 1
    fi
    sleep 0.5
  done
  echo "export SLURM_CONF=$SLURM_CONF"
  ;;
kill)
  [ $# -eq 3 ] || usage
  end_node "$3"
  ;;
revive)
  [ $# -eq 3 ] || usage
  node "$3"
  ;;
stop)
  for name in "$here"/node*; do
    if [ -d "$name" ]; then end_node "$(basename "$name")"; fi
  done
  if [ -f "$here/controller.pid" ]; then tree "$(cat "$here/controller.pid")"; fi
  rm -f "$here/controller.pid"
  ;;
*) usage ;;
esac
