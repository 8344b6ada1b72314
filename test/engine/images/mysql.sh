#!/bin/sh
# Stands in for the start script of the images mysql and mariadb: makes the database at the first start, with what MYSQL_*
# or MARIADB_* say, gives the data to the user mysql, and becomes the server as that user.
set -eu
umask 022

data=/var/lib/mysql
case "${1:-}" in
  mysqld|mariadbd) shift ;;
  ''|-*) ;;
  *) exec "$@" ;;
esac
server=$(command -v mysqld || command -v mariadbd)
client=$(command -v mysql || command -v mariadb)

if [ "$(id -u)" = 0 ]; then
  mkdir -p "$data" /var/run/mysqld
  chown mysql:mysql "$data" /var/run/mysqld
  find "$data" ! -user mysql -exec chown mysql:mysql {} +
  exec gosu mysql "$0" mysqld "$@"
fi

database=${MYSQL_DATABASE:-${MARIADB_DATABASE:-}} user=${MYSQL_USER:-${MARIADB_USER:-}}
password=${MYSQL_PASSWORD:-${MARIADB_PASSWORD:-}} random=${MYSQL_RANDOM_ROOT_PASSWORD:-${MARIADB_RANDOM_ROOT_PASSWORD:-}}
root=${MYSQL_ROOT_PASSWORD:-${MARIADB_ROOT_PASSWORD:-}}
if [ ! -d "$data/mysql" ]; then
  echo "stand-in: initializing the database"
  [ -n "$root$random" ] || { echo "You need to specify a root password" >&2; exit 1; }
  if [ -z "$root" ]; then
    root=$(head -c 24 /dev/urandom | base64)
    echo "GENERATED ROOT PASSWORD: $root"
  fi
  socket=/var/run/mysqld/first.sock
  galera=
  if command -v mariadb-install-db >/dev/null; then
    mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal --skip-test-db >/dev/null
    galera=--wsrep-on=OFF
  else
    "$server" --no-defaults --initialize-insecure --datadir="$data"
  fi
  "$server" --no-defaults --datadir="$data" --socket="$socket" --pid-file=/var/run/mysqld/first.pid --skip-networking $galera &
  first=$!
  for _ in $(seq 240); do
    if "$client" --no-defaults --socket="$socket" --user=root --execute='SELECT 1' >/dev/null 2>&1; then break; fi
    kill -0 $first || { echo "the server of the first start ended" >&2; exit 1; }
    sleep 0.5
  done
  "$client" --no-defaults --socket="$socket" --user=root <<SQL
CREATE DATABASE IF NOT EXISTS \`$database\`;
CREATE USER '$user'@'%' IDENTIFIED BY '$password';
GRANT ALL ON \`$database\`.* TO '$user'@'%';
ALTER USER 'root'@'localhost' IDENTIFIED BY '$root';
SQL
  kill $first
  wait $first || true
  echo "stand-in: the database is initialized"
fi
exec "$server" "$@" --datadir="$data" --socket=/var/run/mysqld/mysqld.sock
