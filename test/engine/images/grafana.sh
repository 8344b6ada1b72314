#!/bin/sh
# Stands in for Grafana, which Debian has not: reads what it would read, and answers its health check on port 3000.
set -eu
[ -n "${GF_SECURITY_ADMIN_PASSWORD:-}" ] || { echo "no GF_SECURITY_ADMIN_PASSWORD" >&2; exit 1; }
cat /etc/grafana/provisioning/datasources/*.yml /etc/grafana/provisioning/dashboards/*.yml >/dev/null
for dashboard in /var/lib/grafana-dashboards/*.json; do cat "$dashboard" >/dev/null; done
touch /var/lib/grafana/grafana.db
mkdir -p /tmp/www/api
echo '{"database":"ok","version":"stand-in"}' > /tmp/www/api/health
exec busybox httpd -f -p 3000 -h /tmp/www
