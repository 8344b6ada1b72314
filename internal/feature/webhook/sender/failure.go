package sender

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/dialguard"
)

// failureOf returns the reason why a request got no answer. It drops the URL, which may contain a secret of its owner,
// and the parts of a malformed answer that the transport's error quotes.
func failureOf(err error) dispatch.Failure {
	if e, ok := errors.AsType[*url.Error](err); ok && e.Timeout() {
		return dispatch.Failure{Code: dispatch.Timeout}
	}
	return cmp.Or(ofName(err), ofCertificate(err), ofConnection(err), dispatch.Failure{Code: dispatch.NotHTTP})
}

// ofAddress returns the failure for an address that may not be dialled.
func ofAddress(e *dialguard.AddressError) dispatch.Failure {
	code := dispatch.AddressNotAllowed
	if e.Reason == dialguard.NeedsTLS {
		code = dispatch.NeedsTLS
	}
	return dispatch.Failure{Code: code, Address: e.Address}
}

// ofName returns a failure before there was a connection; the zero value if it was another one.
func ofName(err error) dispatch.Failure {
	if e, ok := errors.AsType[*dialguard.AddressError](err); ok {
		return ofAddress(e)
	}
	e, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return dispatch.Failure{}
	case e.IsNotFound:
		return dispatch.Failure{Code: dispatch.DNS, Host: e.Name}
	}
	return dispatch.Failure{Code: dispatch.DNSFailed, Host: e.Name, Detail: e.Err}
}

// ofCertificate returns a failure because of the receiver's certificate; the zero value if it was another one.
func ofCertificate(err error) dispatch.Failure {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return dispatch.Failure{Code: dispatch.TLSUnknownAuthority}
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return dispatch.Failure{Code: dispatch.TLSHost, Host: e.Host}
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return dispatch.Failure{Code: dispatch.TLSExpired}
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return dispatch.Failure{Code: dispatch.TLSCertificate, Detail: e.Err.Error()}
	}
	return dispatch.Failure{}
}

// ofConnection returns a failure of a connection; the zero value if it was another one.
func ofConnection(err error) dispatch.Failure {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	address := ""
	e, network := errors.AsType[*net.OpError](err)
	if network && e.Addr != nil {
		address = e.Addr.String()
	}
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case is(syscall.ECONNREFUSED):
		return dispatch.Failure{Code: dispatch.ConnectionRefused, Address: address}
	case is(syscall.ENETUNREACH, syscall.EHOSTUNREACH):
		return dispatch.Failure{Code: dispatch.Unreachable, Address: address}
	case is(io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE):
		return dispatch.Failure{Code: dispatch.ConnectionClosed}
	case noTLS, is(http.ErrSchemeMismatch):
		return dispatch.Failure{Code: dispatch.NoTLS}
	case is(context.Canceled):
		return dispatch.Failure{Code: dispatch.Canceled}
	case network && e.Op == "remote error": // crypto/tls: the receiver's alert
		return dispatch.Failure{Code: dispatch.TLSHandshake, Detail: e.Err.Error()}
	case network:
		return dispatch.Failure{Code: dispatch.Other, Detail: e.Error()}
	}
	inner := err
	if u, ok := errors.AsType[*url.Error](err); ok {
		inner = u.Err
	}
	if strings.HasPrefix(inner.Error(), "tls: ") { // crypto/tls has no type for most of its errors
		return dispatch.Failure{Code: dispatch.TLSHandshake, Detail: inner.Error()}
	}
	return dispatch.Failure{}
}
