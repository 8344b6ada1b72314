#!/bin/sh
# Starts a node of the Galera cluster: galera.sh <argument of mariadbd>… It founds the cluster or joins it.
#
# FOUNDER is "yes" at one node. That node founds the cluster when it has no data yet. Later, all nodes join; after a stop of all
# of them, the one that left last (safe_to_bootstrap: 1) founds it again. A node that founds a cluster while others live would
# be a second cluster, so nothing else makes one do it. After a crash of all nodes at once they find each other by themselves.
set -eu

data=${GALERA_DATA:-/var/lib/mysql}
state=$data/grastate.dat
if [ -e "$state" ]; then
  if grep -q '^safe_to_bootstrap: 1' "$state"; then
    set -- "$@" --wsrep-new-cluster
  fi
elif [ "${FOUNDER:-no}" = yes ] && [ ! -d "$data/mysql" ]; then
  set -- "$@" --wsrep-new-cluster
fi
exec docker-entrypoint.sh mariadbd "$@"
