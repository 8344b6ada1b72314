#!/bin/sh
# Makes one Redis Cluster of nodes that have just been started: redis-cluster.sh <host>[:<port>]… The first half become masters
# and share the slots, the others their replicas. It ends with 0 once all slots are served, and changes nothing in a cluster that
# serves them. redis-cli takes the password from REDISCLI_AUTH.
set -eu

# Nodes are introduced by address.
nodes=
for node in "$@"; do
  host=${node%:*} port=6379
  [ "$host" = "$node" ] || port=${node##*:}
  address=$(getent hosts "$host" | awk '{print $1; exit}')
  [ -n "$address" ] || { echo "$host has no address" >&2; exit 1; }
  [ -n "$nodes" ] || { first_host=$address; first_port=$port; }
  nodes="$nodes $address:$port"
done

info() { redis-cli -h "$first_host" -p "$first_port" cluster info | tr -d '\r' | grep "^$1:" | cut -d: -f2; }

# A cluster that was made before may take a while to find its nodes again: only one without any slot is new.
replicas=0
if [ "$(info cluster_slots_assigned)" = 0 ]; then
  replicas=$(($# / 2))
  # shellcheck disable=SC2086
  redis-cli --cluster create $nodes --cluster-replicas 1 --cluster-yes
fi

known() { redis-cli -h "$first_host" -p "$first_port" cluster nodes | grep -c ' slave '; }

for _ in $(seq 60); do
  if [ "$(info cluster_state)" = ok ] && [ "$(info cluster_slots_ok)" = 16384 ] && [ "$(known)" -ge "$replicas" ]; then
    echo "the cluster serves all slots"
    exit 0
  fi
  sleep 1
done
echo "the cluster does not serve all slots" >&2
exit 1
