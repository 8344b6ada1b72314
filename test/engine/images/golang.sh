# Fills a folder with what the image golang has: this machine's Go, authorities of certificates, and, in place of a module
# proxy, the modules that go.sum names. Run where go.mod is.
set -euo pipefail

dir=$1
mkdir -p "$dir/usr/local" "$dir/goproxy" "$dir/etc/ssl/certs" "$dir/go"
cp -a "$(go env GOROOT)" "$dir/usr/local/go"
rm -rf "$dir/usr/local/go/test" "$dir/usr/local/go/doc" "$dir/usr/local/go/api"
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
  cp /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/"
else
  echo '# stand-in' > "$dir/etc/ssl/certs/ca-certificates.crt"
fi
cache=$(go env GOMODCACHE)/cache/download
while read -r module version _; do
  escaped=$(printf '%s' "$module" | sed 's/[A-Z]/!\l&/g')
  from=$cache/$escaped/@v to=$dir/goproxy/$escaped/@v
  mkdir -p "$to"
  for kind in info mod zip; do
    file=$from/${version%/go.mod}.$kind
    case "$kind $version" in "zip "*/go.mod) continue ;; esac
    if [ -e "$file" ]; then cp "$file" "$to/"; fi
  done
done < go.sum
