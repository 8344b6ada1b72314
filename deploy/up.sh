#!/bin/sh
# Starts the compose stack of docker-compose.yml and waits until it is healthy. Where it is not, it says what to do. It ends
# early where waiting is in vain: with another password than the one with which the volumes were made.
set -u

container() { docker compose ps --all --quiet "$1" 2>/dev/null; }
checks() { docker inspect --format '{{with .State.Health}}{{range .Log}}{{.Output}}{{end}}{{end}}' "$1" 2>/dev/null; }
refused() { id=$(container mysql) && [ -n "$id" ] && checks "$id" | grep -q 'Access denied'; }

# What a start with a wrong password has left would be asked before there is a new one. The data are in a volume.
if refused; then docker compose rm --stop --force mysql; fi
docker compose up --build --detach --wait &
up=$!
trap 'kill $up 2>/dev/null' INT TERM
while kill -0 $up 2>/dev/null; do
  if refused; then
    kill $up
    wait $up
    cat >&2 <<'EOF'

MySQL refuses MYSQL_PASSWORD of .env: its volume was made with another one. Put the .env back with which it was made. If you
need none of its data, docker compose down --volumes deletes them, and the next make up begins anew.
EOF
    exit 1
  fi
  sleep 3
done
if wait $up; then exit 0; fi

taken=
for service in $(docker compose ps --all --services); do
  id=$(container "$service")
  state=$(docker inspect --format '{{.State.Status}} {{with .State.Health}}{{.Status}}{{end}} {{.State.Error}}' "$id")
  case $state in
    *already*)
      taken=$service
      echo "The port of $service is taken by another program. Set another in .env: ENTRY_PORT, PROMETHEUS_PORT, ALERTMANAGER_PORT," \
        "GRAFANA_PORT." ;;
    running\ healthy*|created*) ;;
    *)
      echo "$service is $state"
      checks "$id" | tail -n 1
      docker logs --tail 3 "$id" 2>&1 ;;
  esac
done >&2
# A port of Prometheus, Alertmanager or Grafana keeps nobody from selling.
if [ -n "$taken" ] && docker compose up --no-build --detach --wait nginx >/dev/null 2>&1; then
  entry=$(docker compose port nginx 8080)
  echo "The service itself is up, at port ${entry##*:}." >&2
fi
exit 1
