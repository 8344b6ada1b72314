#!/bin/sh
# Starts a node of the Galera cluster: galera.sh <argument of mariadbd>… It founds the cluster or joins it.
#
# Before its server starts, a node writes its position into a folder that all nodes share, and removes it again when the server
# may start. So a position says: this node does not run, and has this. Positions of all nodes say that there is no cluster, and
# the node that has most founds it: at the first start (nobody has anything) the one with FOUNDER=yes, after a stop, a reboot or
# a power cut of all of them the one with the last transaction. Where another node runs, a node joins it.
#
# On machines of their own nodes share no folder. There a node founds the cluster if it is the FOUNDER and has no data, or if
# it left last (safe_to_bootstrap: 1), and otherwise joins; galera.sh position prints a node's position, for people.
set -eu

data=${GALERA_DATA:-/var/lib/mysql} positions=${GALERA_POSITIONS:-/var/lib/galera-positions}
state=$data/grastate.dat begun=$data/first-start
none=00000000-0000-0000-0000-000000000000

# of prints a member of the node's state.
of() { sed -n "s/^$1: *//p" "$state" 2>/dev/null || true; }

# position prints the id of the cluster whose data the node has, and the number of the last transaction. After a crash only
# InnoDB knows that.
position() {
  id=$(of uuid) last=$(of seqno)
  if [ -n "$id" ] && [ "$id" != $none ] && [ "${last:--1}" -lt 0 ]; then
    log=${TMPDIR:-/tmp}/galera-recover
    mariadbd --user=mysql --datadir="$data" --wsrep-recover --log-error="$log" >/dev/null 2>&1 || true
    found=$(sed -n 's/.*Recovered position: *//p' "$log" | tail -n 1)
    rm -f "$log"
    [ -n "$found" ] && id=${found%:*} last=${found##*:}
  fi
  echo "${id:-$none} ${last:--1}"
}

if [ "${1:-}" = position ]; then
  position
  exit
fi

join() { exec docker-entrypoint.sh mariadbd "$@"; }

found() {
  [ ! -e "$state" ] || sed -i 's/^safe_to_bootstrap: 0/safe_to_bootstrap: 1/' "$state"
  rm -f "$data/gvwstate.dat"
  exec docker-entrypoint.sh mariadbd "$@" --wsrep-new-cluster
}

if [ ! -d "$positions" ]; then
  if grep -q '^safe_to_bootstrap: 1' "$state" 2>/dev/null; then found "$@"; fi
  if [ ! -e "$state" ] && [ "${FOUNDER:-no}" = yes ] && [ ! -d "$data/mysql" ]; then found "$@"; fi
  join "$@"
fi

name= nodes=
for argument in "$@"; do
  case $argument in
    --wsrep-node-name=*) name=${argument#*=} ;;
    --wsrep-cluster-address=*) nodes=$(echo "${argument#*gcomm://}" | tr , ' ') ;;
  esac
done

# What a first start has left that was interrupted is of no use: the database may be there without its user.
mine=$(position)
if [ -e "$begun" ] && [ "${mine% *}" != $none ]; then
  rm -f "$begun"
elif [ -e "$begun" ]; then
  find "$data" -mindepth 1 -delete
fi
[ -d "$data/mysql" ] || touch "$begun"

# runs says whether a node's server runs, which then has port 4567 open.
runs() { [ ! -e "$positions/$1" ] && timeout 2 bash -c ": </dev/tcp/$1/${GALERA_PORT:-4567}" 2>/dev/null; }

missing() { for node in $nodes; do [ -e "$positions/$node" ] || printf ' %s' "$node"; done; }

# first prints the node that founds the cluster.
first() {
  clusters=$(for node in $nodes; do cut -d ' ' -f 1 "$positions/$node"; done | grep -v $none | sort -u)
  if [ -z "$clusters" ]; then
    for node in $nodes; do grep -q ' founder$' "$positions/$node" && echo "$node"; done
  elif [ "$(echo "$clusters" | wc -l)" = 1 ]; then
    for node in $nodes; do
      read -r id last _ < "$positions/$node"
      [ "$id" = $none ] || echo "$last $node"
    done | sort -s -n -r -k 1,1 | sed -n '1s/.* //p'
  fi
}

[ "${FOUNDER:-no}" = yes ] && mine="$mine founder"
echo "$mine" > "$positions/.$name"
mv "$positions/.$name" "$positions/$name"
echo "galera: position $mine; $nodes"

exec 9> "$positions/.lock"
said=$(date +%s)
while :; do
  for node in $nodes; do
    if [ "$node" != "$name" ] && runs "$node"; then
      echo "galera: joins $node"
      rm -f "$positions/$name"
      exec 9>&-
      join "$@"
    fi
  done
  # Under the lock a position that is there stays, so that no two nodes found a cluster.
  flock 9
  waits=$(missing)
  if [ -z "$waits" ]; then
    chosen=$(first) || true
    if [ "$chosen" = "$name" ]; then
      echo "galera: founds the cluster: no other node has more"
      rm -f "$positions/$name"
      exec 9>&-
      found "$@"
    fi
    waits=" ${chosen:-people: the nodes have data of several clusters, or none is the founder}"
  fi
  flock -u 9
  # By the clock: asking for a node that is away may take seconds.
  now=$(date +%s)
  if [ $((now - said)) -ge 10 ]; then
    echo "galera: waits for$waits"
    said=$now
  fi
  sleep 0.25
done
