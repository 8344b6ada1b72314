package sender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"seckill/internal/webhook"
)

// AddressError says that an address may not be dialled.
type AddressError struct {
	Code    webhook.FailureCode
	Address string
}

func (e *AddressError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Address) }

// failureOf says why a request got no answer. It keeps no URL, which may contain what only its owner should know, and
// nothing of a malformed answer, parts of which the transport quotes.
func failureOf(err error) webhook.Failure {
	if e, ok := errors.AsType[*url.Error](err); ok && e.Timeout() {
		return webhook.Failure{Code: webhook.Timeout}
	}
	for _, known := range []func(error) (webhook.Failure, bool){ofName, ofCertificate, ofConnection} {
		if f, ok := known(err); ok {
			return f
		}
	}
	return webhook.Failure{Code: webhook.NotHTTP}
}

// ofName is a failure before there was a connection.
func ofName(err error) (webhook.Failure, bool) {
	if e, ok := errors.AsType[*AddressError](err); ok {
		return webhook.Failure{Code: e.Code, Address: e.Address}, true
	}
	e, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return webhook.Failure{}, false
	case e.IsNotFound:
		return webhook.Failure{Code: webhook.DNS, Host: e.Name}, true
	}
	return webhook.Failure{Code: webhook.DNSFailed, Host: e.Name, Detail: e.Err}, true
}

// ofCertificate is a failure because of the receiver's certificate.
func ofCertificate(err error) (webhook.Failure, bool) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return webhook.Failure{Code: webhook.TLSUnknownAuthority}, true
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return webhook.Failure{Code: webhook.TLSHost, Host: e.Host}, true
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return webhook.Failure{Code: webhook.TLSExpired}, true
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return webhook.Failure{Code: webhook.TLSCertificate, Detail: e.Err.Error()}, true
	}
	return webhook.Failure{}, false
}

// ofConnection is a failure of a connection.
func ofConnection(err error) (webhook.Failure, bool) {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	address := ""
	e, network := errors.AsType[*net.OpError](err)
	if network && e.Addr != nil {
		address = e.Addr.String()
	}
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	f := webhook.Failure{}
	switch {
	case is(syscall.ECONNREFUSED):
		f = webhook.Failure{Code: webhook.ConnectionRefused, Address: address}
	case is(syscall.ENETUNREACH, syscall.EHOSTUNREACH):
		f = webhook.Failure{Code: webhook.Unreachable, Address: address}
	case is(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE):
		f.Code = webhook.ConnectionClosed
	case noTLS, is(http.ErrSchemeMismatch):
		f.Code = webhook.NoTLS
	case is(context.Canceled):
		f.Code = webhook.Canceled
	case network && e.Op == "remote error": // crypto/tls: the receiver's alert
		f = webhook.Failure{Code: webhook.TLSHandshake, Detail: e.Err.Error()}
	case network:
		f = webhook.Failure{Code: webhook.Other, Detail: e.Error()}
	default:
		inner := err
		if u, ok := errors.AsType[*url.Error](err); ok {
			inner = u.Err
		}
		if !strings.HasPrefix(inner.Error(), "tls: ") { // crypto/tls has no type for most of its errors
			return f, false
		}
		f = webhook.Failure{Code: webhook.TLSHandshake, Detail: inner.Error()}
	}
	return f, true
}
