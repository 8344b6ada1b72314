#!/bin/sh
# Stands in for the start script of the image redis.
set -eu
case "${1:-}" in -*|*.conf) set -- redis-server "$@" ;; esac
umask 077
exec "$@"
