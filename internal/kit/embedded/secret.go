package embedded

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	secretName  = "secret"
	secretBytes = 32 // random bytes; the file has two characters for each
)

// ErrNoSecret means that the directory has no secret, because no service has been started on it yet.
var ErrNoSecret = errors.New("no secret in the data directory")

// Secret returns the key of the tokens' signatures, creating it if necessary. It is the same at every start. If other
// users could read it, Secret makes it private again and logs a warning.
func (h *Home) Secret() (string, error) {
	h.secret.Lock()
	defer h.secret.Unlock()
	secret, mode, err := readSecret(h.dir)
	if errors.Is(err, ErrNoSecret) {
		random := make([]byte, secretBytes)
		_, _ = rand.Read(random) // never fails, by its documentation
		secret = hex.EncodeToString(random)
		if err := writeFile(h.dir, secretName, []byte(secret+"\n")); err != nil {
			return "", fmt.Errorf("keep the secret: %w", err)
		}
		return secret, nil
	}
	if err != nil {
		return "", err
	}
	if mode.Perm()&0o077 != 0 {
		path := filepath.Join(h.dir, secretName)
		if err := os.Chmod(path, 0o600); err != nil {
			return "", fmt.Errorf("make the secret private: %w", err)
		}
		h.log.Warn("other users could read the secret; it is private again. Remove the file to get a  "+
			"new one if they may have",
			"file", path, "mode", mode.Perm())
	}
	return secret, nil
}

// ReadSecret returns the secret of a directory without locking it, for commands that run beside the service. Without
// one, the error wraps ErrNoSecret.
func ReadSecret(dir string) (string, error) {
	secret, _, err := readSecret(dir)
	return secret, err
}

func readSecret(dir string) (string, fs.FileMode, error) {
	path := filepath.Join(dir, secretName)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, fmt.Errorf("%w: %s", ErrNoSecret, path)
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the secret: %w", err)
	}
	if !info.Mode().IsRegular() { // a link could point to another user's file
		return "", 0, fmt.Errorf("read the secret: %s is not a regular file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, fmt.Errorf("read the secret: %w", err)
	}
	text = bytes.TrimSpace(text)
	// The service writes it completely or not at all, so any other content was written by hand.
	if random, err := hex.DecodeString(string(text)); err != nil || len(random) < secretBytes {
		return "", 0, fmt.Errorf("read the secret: %s does not hold %d or more hexadecimal digits; remove it for a "+
			"new one", path, 2*secretBytes)
	}
	return string(text), info.Mode(), nil
}
