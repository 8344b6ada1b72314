#!/bin/sh
# Makes one Redis Cluster of nodes that have been started: redis-cluster.sh <host>[:<port>]… The first three become masters and share
# the slots, the others their replicas: three more, or six. It finishes what an earlier run has left half done, and ends with 0 once all slots are
# served and there are as many replicas. It changes nothing in a cluster that is whole. redis-cli takes the password from REDISCLI_AUTH.
set -eu

# Nodes are introduced by address.
nodes=
for node in "$@"; do
  host=${node%:*} port=6379
  [ "$host" = "$node" ] || port=${node##*:}
  address=$(getent hosts "$host" | awk '{print $1; exit}')
  [ -n "$address" ] || { echo "$host has no address" >&2; exit 1; }
  nodes="$nodes $address:$port"
done
first=${nodes# } first=${first%% *}
replicas=$(($# - 3))

# Without -e, redis-cli ends with 0 when the node refuses.
at() { to=$1; shift; redis-cli -e -h "${to%:*}" -p "${to##*:}" "$@"; }
info() { at "$1" cluster info | tr -d '\r' | grep "^$2:" | cut -d: -f2; }

# Slots are given before nodes are introduced: as long as none knows another one, nothing that they have been given is of use,
# unless it is data.
alone=yes
for node in $nodes; do
  known=$(info "$node" cluster_known_nodes)
  [ -n "$known" ] || { echo "$node does not answer as a node of a cluster" >&2; exit 1; }
  [ "$known" = 1 ] || alone=no
done
if [ $alone = yes ]; then
  for node in $nodes; do
    [ "$(at "$node" dbsize)" = 0 ] || { echo "$node knows no other node and holds keys: it is not made part of a new cluster" >&2; exit 1; }
  done
  for node in $nodes; do at "$node" cluster reset hard; done
  # shellcheck disable=SC2086
  redis-cli --cluster create $nodes --cluster-replicas $((replicas / 3)) --cluster-yes || echo "the cluster is not whole yet" >&2
fi

# view is what the first node knows of all: id, address, flags, master, …, and from the ninth field on a master's slots.
view() { at "$first" cluster nodes; }
count_replicas() { view | awk '$3 ~ /slave/ && $3 !~ /fail|noaddr|handshake/ {n++} END {print n+0}'; }

introduce() {
  known=$(view)
  for node in $nodes; do
    [ "$node" = "$first" ] || echo "$known" | grep -qF " $node@" || at "$first" cluster meet "${node%:*}" "${node##*:}"
  done
}

# attach makes a master without slots the replica of the master that has fewest, once what the first node knows is true of all
# of those. A node that holds keys refuses.
attach() {
  # shellcheck disable=SC2046
  set -- $(view | awk '
    $3 ~ /fail|handshake|noaddr/ {next}
    $3 ~ /slave/ {replicas[$4]++; next}
    NF > 8 {masters[$1]; next}
    {sub(/@.*/, "", $2); spare = spare " " ($3 ~ /myself/ ? "'"$first"'" : $2)}
    END {
      for (m in masters) if (least == "" || replicas[m]+0 < replicas[least]+0) least = m
      print least spare
    }')
  [ $# -gt 1 ] || return 0
  master=$1
  shift
  for spare in "$@"; do
    [ "$(at "$spare" role | head -n 1)" = master ] || return 0
  done
  at "$1" cluster replicate "$master" || true # it may not know its master yet
}

served() { [ "$(info "$first" cluster_state)" = ok ] && [ "$(info "$first" cluster_slots_ok)" = 16384 ]; }

for _ in $(seq 60); do
  if served && [ "$(count_replicas)" -ge "$replicas" ]; then
    echo "the cluster serves all slots and has $(count_replicas) replicas"
    exit 0
  fi
  introduce
  if served; then attach; fi
  sleep 1
done
echo "the cluster does not serve all slots with $replicas replicas; it has $(count_replicas)" >&2
exit 1
