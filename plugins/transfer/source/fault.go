package source

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// faultOf classifies a request that got no answer: an error for which retrying
// is useless, or a TemporaryError.
func faultOf(err error) error {
	var inside *internalError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var alert tls.AlertError
	var name *net.DNSError
	err = redactError(err)
	switch {
	case errors.As(err, &inside):
		return inside
	case errors.As(err, &certificate):
		return fmt.Errorf("the server's certificate is not accepted: %w", err)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the server does not use TLS at this address; try http:// or another port: %w", err)
	case errors.As(err, &alert) && alert != internalAlert:
		return fmt.Errorf("the server refuses the TLS connection: %w", err)
	case errors.Is(err, errProxy):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return &TemporaryError{Err: fmt.Errorf("check the address: %w", err), brief: true}
	}
	return &TemporaryError{Err: err}
}

// internalAlert is the TLS alert by which a server says that the error is its
// own (RFC 8446, 6.2).
const internalAlert = tls.AlertError(80)
