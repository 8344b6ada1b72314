package config

import (
	"crypto/x509"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// fileSuffix, appended to a secret's variable, names a file that holds the secret, as Docker and Kubernetes mount them.
const fileSuffix = "_FILE"

// isSecret reports whether a setting is or contains a secret.
func (s setting) isSecret() bool {
	return s.field.Type == reflect.TypeFor[Secret]() || s.field.Type == reflect.TypeFor[DSN]()
}

// readSecretFiles reads the files named by variables with fileSuffix, and sets the secrets' own variables from them.
func readSecretFiles(vars map[string]string, ps *problems) {
	for _, s := range settings() {
		variable := s.name() + fileSuffix
		path := vars[variable]
		if !s.isSecret() || path == "" {
			continue
		}
		if vars[s.name()] != "" {
			ps.add(s.name(), "is set, and so is "+variable, "one of them")
			continue
		}
		text, err := os.ReadFile(path)
		secret := secretIn(string(text))
		switch {
		case err != nil:
			ps.add(s.name(), fmt.Sprintf("cannot be read from %s: %v", variable, err), "a file that can be read")
		case secret == "":
			ps.add(s.name(), fmt.Sprintf("is not in %s: %s is empty", variable, path), "a file with the secret alone")
		default:
			vars[s.name()] = secret
		}
	}
}

// secretIn returns the secret in a file's text. Editors add what is not part of it: a byte order mark at the beginning,
// and line ends, with the blanks before them, at the end. A blank without a line end may be part of a password.
func secretIn(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	secret := strings.TrimRight(text, "\r\n")
	if secret != text {
		secret = strings.TrimRight(secret, " \t\r\n")
	}
	return secret
}

// readCAs returns the certificates in a file, or nil if there is no path: then the system's authorities are used.
func readCAs(variable, path string, ps *problems) *x509.CertPool {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		ps.add(variable, "cannot be read: "+err.Error(), "a file with certificates in PEM")
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		ps.add(variable, fmt.Sprintf("is %q, which has no certificate", path), "a file with certificates in PEM")
		return nil
	}
	return pool
}
