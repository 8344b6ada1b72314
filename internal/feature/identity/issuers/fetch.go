package issuers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"seckill/internal/kit/dialguard"
)

const (
	fetchTimeout = 5 * time.Second
	fetchHeader  = 16 << 10 // bytes
)

// SourceOf returns the function that reads an issuer's keys.
func SourceOf(i Issuer) Source {
	if i.File != "" {
		return func(context.Context) ([]byte, error) { return readFile(i.File) }
	}
	client := newClient(i)
	return func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		return fetch(ctx, client, i.JWKS)
	}
}

// newClient returns a client that follows no redirect, uses no proxy from the environment, keeps no connection, and
// dials only what dialguard allows.
func newClient(i Issuer) *http.Client {
	guard := dialguard.New(i.Networks)
	dialer := &net.Dialer{Timeout: fetchTimeout, Control: guard.Control(strings.HasPrefix(i.JWKS, "https:"))}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: fetchTimeout, DisableKeepAlives: true,
			MaxResponseHeaderBytes: fetchHeader, DisableCompression: true, ForceAttemptHTTP2: true,
		},
	}
}

func fetch(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for the keys: %w", err)
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking for the keys: %w", err)
	}
	b, errRead := atMost(res.Body)
	_ = res.Body.Close() // the body has been read, so an error does not matter
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asked for the keys, the issuer answers %d", res.StatusCode)
	}
	return b, errRead
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := atMost(f)
	return b, errors.Join(err, f.Close())
}

// atMost reads up to maxFile bytes, and refuses more. A byte order mark at the beginning is not part of the text.
func atMost(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return bytes.TrimPrefix(b, []byte("\ufeff")), nil
}
