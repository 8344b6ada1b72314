package test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// authority is a test's own certificate authority, with its files and a certificate for this machine.
type authority struct{ ca, certificate, key string }

func newAuthority(t *testing.T) authority {
	t.Helper()
	dir := t.TempDir()
	a := authority{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		}
	}
	caKey, key := newKey(t), newKey(t)
	ca := template("authority")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	certificate := template("stores")
	certificate.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	certificate.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	a.write(t, a.ca, "CERTIFICATE", signed(t, ca, ca, caKey, caKey))
	a.write(t, a.certificate, "CERTIFICATE", signed(t, certificate, ca, key, caKey))
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, a.key, "PRIVATE KEY", private)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t *testing.T, certificate, by *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, by, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func (authority) write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPrivateAuthority checks that the service sells on a Redis and a MariaDB with certificates of a private authority,
// and with its secrets in files. With another authority it must refuse both at once, and log the reason once.
func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t), newAuthority(t)
	addr := box.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	testkit.StartRedis(t, "--tls-port", port, "--tls-cert-file", own.certificate, "--tls-key-file", own.key,
		"--tls-ca-cert-file", own.ca, "--tls-auth-clients", "no")
	maria := testkit.StartMariaDB(t, "--ssl-cert="+own.certificate, "--ssl-key="+own.key)
	secrets := t.TempDir()
	files := map[string]string{"dsn": maria.DSN("seckill"), "jwt": box.Secret}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": addr, "SECKILL_REDIS_TLS": "true", "SECKILL_REDIS_CA_FILE": own.ca,
		"SECKILL_MYSQL_DSN_FILE": filepath.Join(secrets, "dsn"), "SECKILL_MYSQL_CA_FILE": own.ca,
		"SECKILL_JWT_SECRET_FILE": filepath.Join(secrets, "jwt"),
	}
	if err := box.NewServer(t, "instance", settings).Start(); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{
		"SECKILL_REDIS_CA_FILE": "locks list", "SECKILL_MYSQL_CA_FILE": "couponkey",
	} {
		wrong := maps.Clone(settings)
		wrong[name] = other.ca
		expectRefused(t, wrong, args, "certificate signed by unknown authority")
		expectRefused(t, wrong, "serve", "certificate signed by unknown authority")
	}
}

// TestWrongPassword checks that a tool says immediately, and only once, that a store refuses it or has no TLS.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	redis := testkit.StartRedis(t)
	if err := redis.Client().ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	dsn := testkit.MySQL(t)
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": redis.Addr, "SECKILL_REDIS_PASSWORD": "wrong", "SECKILL_MYSQL_DSN": dsn,
		"SECKILL_JWT_SECRET": box.Secret,
	}
	if got := box.Command(t, settings, "migrate"); got.Code != 0 {
		t.Fatalf("exit code %d\n%s", got.Code, got.Stderr)
	}
	expectRefused(t, settings, "locks list", "WRONGPASS")
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Passwd = "wrong"
	settings["SECKILL_MYSQL_DSN"] = cfg.FormatDSN()
	expectRefused(t, settings, "couponkey", "Access denied")
	settings["SECKILL_MYSQL_CA_FILE"] = newAuthority(t).ca
	expectRefused(t, settings, "couponkey", "TLS requested but server does not support TLS")
}

// expectRefused checks that a command fails and gives the reason once.
func expectRefused(t *testing.T, settings map[string]string, args, why string) {
	t.Helper()
	got := box.Command(t, settings, strings.Fields(args)...)
	if got.Code != 1 || strings.Count(got.Stderr, why) != 1 || strings.Contains(got.Stderr, "retrying") {
		t.Errorf("server %s: exit code %d, want 1 and %q once\n%s", args, got.Code, why, got.Stderr)
	}
}
