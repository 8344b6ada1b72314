package rig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// ReadAnswer reads one answer and returns its status. A status that is neither want nor other is an error that quotes
// the body.
func ReadAnswer(r *bufio.Reader, want, other int) (status int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	const before = len("HTTP/1.1 ")
	if len(line) < before+3 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("not an answer: %q", line)
	}
	if status, err = strconv.Atoi(string(line[before : before+3])); err != nil {
		return 0, fmt.Errorf("not an answer: %q", line)
	}
	length, err := readHead(r)
	if err != nil {
		return 0, err
	}
	if status == want || status == other {
		_, err = r.Discard(length)
		return status, err
	}
	body := make([]byte, length)
	for n := 0; n < length; {
		m, err := r.Read(body[n:])
		if err != nil {
			return 0, err
		}
		n += m
	}
	return status, fmt.Errorf("answered %d: %s", status, body)
}

// readHead reads the header and returns the length of the body.
func readHead(r *bufio.Reader) (length int, err error) {
	length = -1
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return 0, err
		case len(line) <= 2 && length < 0:
			return 0, errors.New("an answer without a length")
		case len(line) <= 2:
			return length, nil
		}
		if name, value, found := bytes.Cut(line, []byte(": ")); found && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
}
