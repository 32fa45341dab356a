package reason

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Advice that several errors share.
const (
	checkURL = "is the server running? check the URL"
	hangsUp  = "the server hangs up: check the URL, also http:// or https://"
)

// explainStatus explains why a server over HTTP refused a request.
func explainStatus(e *transport.HTTPError) string {
	text := fmt.Sprintf("%s (HTTP status %d of %s)", statusAdvice(e.Status), e.Status, e.URL)
	if said := strings.TrimSpace(e.Body); said != "" && !strings.HasPrefix(said, "<") { // a page is for browsers
		text += "; it says: " + hosttext.Line(said, 300)
	}
	return text
}

// statusAdvice explains an HTTP status.
func statusAdvice(status int) string {
	switch status {
	case http.StatusForbidden:
		return "the server does not let you in: its operator can allow your key or account"
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return "there is no MCP server at this URL: check its path, which often ends with /mcp or /sse"
	case http.StatusTooManyRequests:
		return "the server has too much to do: try again later"
	}
	switch {
	case status >= 500:
		return "the server is out of order: try again later, or tell its operator"
	case status >= 300 && status < 400:
		return "the server has another address: write that in the file"
	}
	return "the server does not take the request: check the URL and the headers"
}

// explainNetwork explains why a server could not be reached. It returns "" for errors that are not about the network.
func explainNetwork(err error) string {
	text, cause := "", err
	op, isOp := errors.AsType[*net.OpError](err)
	name, isName := errors.AsType[*net.DNSError](err)
	certificate, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	broken, isBroken := errors.AsType[*transport.BrokenError](err)
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case isBroken && broken.ResponseBegun:
		text, cause = "the server broke off its answer: try again", broken
	case isCertificate:
		text, cause = explainCertificate(certificate.Err)
	case isRecord || errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak https: does its URL begin with http://?"
	case isName && name.IsNotFound:
		return fmt.Sprintf("there is no host %s: check the URL", hosttext.Line(name.Name, 300))
	case isOp && op.Op == "proxyconnect":
		text, cause = "the proxy cannot be reached: check HTTP_PROXY and HTTPS_PROXY", op
	case isOp && op.Op == "dial":
		text, cause = "the server cannot be reached: "+checkURL, op
	case isOp:
		text, cause = hangsUp, op
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text, cause = hangsUp, io.EOF
	case isBroken:
		text, cause = hangsUp, broken
	default:
		return ""
	}
	return fmt.Sprintf("%s (%s)", text, hosttext.Line(cause.Error(), 300))
}

// explainCertificate explains what is wrong with a server's certificate, and returns the cause in the error.
func explainCertificate(err error) (text string, cause error) {
	host, isHost := errors.AsType[x509.HostnameError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case isHost:
		return "the certificate of the server is for another host: check the URL", host
	case isInvalid && invalid.Reason == x509.Expired:
		return "the certificate of the server is not valid today: its operator has to renew it, " +
			"or the clock of this machine is wrong", invalid
	}
	return "this machine does not trust the certificate of the server: check the URL; " +
		"for a server of your own, SSL_CERT_FILE names a file with its certificate", err
}
