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
	secretBytes = 32 // from the system's random source; twice as many characters
)

// ErrNoSecret means that the directory has no secret, because no service has been started on it yet.
var ErrNoSecret = errors.New("no secret in the data directory")

// Secret returns the key of the tokens' signatures, which it creates if the directory has none. It is the same at
// every start. One that other users could read is made private again, with a warning.
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
		h.log.Warn("other users could read the secret; it is private again. Remove the file for a "+
			"new one if they may have",
			"file", path, "mode", mode.Perm())
	}
	return secret, nil
}

// ReadSecret returns the secret of a directory without locking it, for a command beside the running service, or an
// error that wraps ErrNoSecret.
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
	if !info.Mode().IsRegular() { // a link could lead to another user's file
		return "", 0, fmt.Errorf("read the secret: %s is not a regular file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, fmt.Errorf("read the secret: %w", err)
	}
	text = bytes.TrimSpace(text)
	// It is written whole or not at all, so anything else was written by hand.
	if random, err := hex.DecodeString(string(text)); err != nil || len(random) < secretBytes {
		return "", 0, fmt.Errorf("read the secret: %s does not hold %d or more hexadecimal digits; remove it for a "+
			"new one", path, 2*secretBytes)
	}
	return string(text), info.Mode(), nil
}
