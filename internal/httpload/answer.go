package httpload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// maxBody limits an answer's body to 16 MiB, far above any answer of this service.
const maxBody = 16 << 20

var (
	errMalformed = errors.New("malformed answer")
	errTooLong   = errors.New("answer too long")
)

// head is the part of an answer's header that the client uses.
type head struct {
	status     int
	length     int // -1: not given
	chunked    bool
	closes     bool
	retryAfter time.Duration
}

// read reads one answer, after skipping answers with status 1xx.
func (c *Conn) read() (a Answer, keep bool, err error) {
	var h head
	for {
		if h, err = c.readHead(); err != nil {
			return a, false, err
		}
		if h.status < 100 || h.status > 199 {
			break
		}
	}
	c.body = c.body[:0]
	switch {
	case h.status == 204 || h.status == 304:
	case h.chunked:
		err = c.readChunks()
	case h.length >= 0:
		err = c.readBody(h.length)
	default: // the body ends with the connection
		h.closes = true
		err = c.readRest()
	}
	return Answer{Status: h.status, RetryAfter: h.retryAfter, Body: c.body}, !h.closes, err
}

func (c *Conn) readHead() (head, error) {
	h := head{length: -1}
	line, err := c.line()
	if err != nil {
		return h, err
	}
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	if h.status, err = strconv.Atoi(string(code)); err != nil || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return h, fmt.Errorf("%w: %.60q", errMalformed, line)
	}
	h.closes = string(version) == "HTTP/1.0"
	for {
		if line, err = c.line(); err != nil || len(line) == 0 {
			return h, err
		}
		if err = h.field(line); err != nil {
			return h, err
		}
	}
}

// field reads one line of the header.
func (h *head) field(line []byte) (err error) {
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		return fmt.Errorf("%w: %.60q", errMalformed, line)
	}
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		if h.length, err = strconv.Atoi(string(value)); err != nil || h.length < 0 {
			return fmt.Errorf("%w: %.60q", errMalformed, line)
		}
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("Connection")):
		h.closes = bytes.EqualFold(value, []byte("close"))
	case bytes.EqualFold(name, []byte("Retry-After")):
		if seconds, err := strconv.ParseUint(string(value), 10, 16); err == nil {
			h.retryAfter = time.Duration(seconds) * time.Second
		}
	}
	return nil
}

// line reads a line without its line end. The result is valid until the next read.
func (c *Conn) line() ([]byte, error) {
	line, err := c.answers.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (c *Conn) readBody(n int) error {
	if len(c.body)+n > maxBody {
		return errTooLong
	}
	at := len(c.body)
	c.body = append(c.body, make([]byte, n)...)
	_, err := io.ReadFull(c.answers, c.body[at:])
	return err
}

func (c *Conn) readChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if err != nil {
			return fmt.Errorf("%w: chunk %.60q", errMalformed, line)
		}
		if n == 0 {
			break
		}
		if err = c.readBody(int(n)); err != nil {
			return err
		}
		if line, err = c.line(); err != nil || len(line) > 0 {
			return fmt.Errorf("%w: a chunk without its end: %w", errMalformed, err)
		}
	}
	for { // skip trailers
		line, err := c.line()
		if err != nil || len(line) == 0 {
			return err
		}
	}
}

func (c *Conn) readRest() error {
	rest, err := io.ReadAll(io.LimitReader(c.answers, maxBody))
	c.body = append(c.body, rest...)
	return err
}
