package views

import (
	"embed"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

//go:embed files
var files embed.FS

// contentTypes are the types of the files by their extensions.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
}

// listenLocked starts to serve the page and the sandbox on free ports of the loopback interface. Each has a port of its
// own, so that their origins differ.
func (s *Service) listenLocked() error {
	page, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	frames, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = page.Close()
		return err
	}
	s.origin, s.frames = "http://"+page.Addr().String(), "http://"+frames.Addr().String()
	if s.box, err = sandbox.New(&sandbox.Options{Origin: s.frames, HostOrigins: []string{s.origin}}); err != nil {
		_ = page.Close()
		_ = frames.Close()
		return err
	}
	s.serveLocked(page, s.guard(s.routes()))
	s.serveLocked(frames, s.box)
	return nil
}

// serveLocked serves until Close, with deadlines for each request, which handlers move if they last longer. The log of the
// server is discarded: it would be written across the screen of the chat.
func (s *Service) serveLocked(l net.Listener, h http.Handler) {
	server := &http.Server{
		Handler:           h,
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       sendTime,
		WriteTimeout:      sendTime,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	s.servers = append(s.servers, server)
	everybody := func(netip.Addr) bool { return true } // no address has a share: all are this machine's
	bounded := bounded.New(l, maxConns, everybody)
	s.served.Go(func() { _ = server.Serve(bounded) }) // ends with Close
}

// routes returns the page's files and what its script calls, for each view below the view's token.
func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{token}/{$}", s.withView(func(w http.ResponseWriter, _ *http.Request, _ *view) {
		serveFile(w, "page.html")
	}))
	mux.HandleFunc("GET /{token}/{file}", s.withView(func(w http.ResponseWriter, r *http.Request, _ *view) {
		serveFile(w, r.PathValue("file"))
	}))
	mux.HandleFunc("POST /{token}/open", s.withView(s.handleOpen))
	mux.HandleFunc("POST /{token}/messages/{session}", s.withView(s.handleMessages))
	mux.HandleFunc("POST /{token}/close/{session}", s.withView(s.handleClose))
	return mux
}

// guard refuses requests of other sites: those by a name that they point to this machine (DNS
// rebinding), and those of their scripts and forms. It also sets the headers of all responses.
func (s *Service) guard(next http.Handler) http.Handler {
	policy := viewframe.Policy(s.frames, "img-src data:")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		viewframe.Protect(w.Header(), policy)
		w.Header().Set("Cache-Control", "no-store")
		origin := r.Header.Get("Origin")
		switch {
		case "http://"+r.Host != s.origin:
			http.Error(w, "This site has another address.", http.StatusMisdirectedRequest)
		case origin != "" && origin != s.origin, origin == "" && r.Method == http.MethodPost:
			http.Error(w, "The request comes from another site.", http.StatusForbidden)
		case r.Method == http.MethodPost && !viewframe.IsJSON(r):
			http.Error(w, "The request is not application/json.", http.StatusUnsupportedMediaType)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxIncoming)
			next.ServeHTTP(w, r)
		}
	})
}

// withView calls serve with the view of the token in the path.
func (s *Service) withView(serve func(http.ResponseWriter, *http.Request, *view)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := s.find(r.PathValue("token"))
		if v == nil {
			http.Error(w, "There is no view here: its program has ended, or has forgotten it.", http.StatusNotFound)
			return
		}
		serve(w, r, v)
	}
}

// serveFile serves a file of the page.
func serveFile(w http.ResponseWriter, name string) {
	data, err := files.ReadFile("files/" + name)
	if name == "frame.js" {
		data, err = viewframe.Script, nil
	}
	if err != nil {
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	_, _ = w.Write(data) // an error means that the browser is gone
}

// readJSON decodes the body of a request. If it cannot, it answers the request and returns false. The rest of the
// request has no deadline for reading: it may last as long as the page, or wait for the view.
func readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		status := http.StatusBadRequest
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "The request cannot be read.", status)
		return false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return true
}

// handleMessages passes messages of the view to the session, as [viewframe.Sender.Send] does.
func (s *Service) handleMessages(w http.ResponseWriter, r *http.Request, v *view) {
	n := s.session(v, r.PathValue("session"))
	if n == nil {
		http.Error(w, "The session is over.", http.StatusNotFound)
		return
	}
	var body struct {
		First    int               `json:"first"` // the number of the first message
		Messages []json.RawMessage `json:"messages"`
	}
	if !readJSON(w, r, &body) {
		return
	}
	if err := n.sender.Send(r.Context(), body.First, body.Messages); err != nil {
		http.Error(w, "The session is over.", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// handleClose tears the view down when the person closes the page. A session that is over already is not an error.
func (s *Service) handleClose(w http.ResponseWriter, r *http.Request, v *view) {
	if n := s.session(v, r.PathValue("session")); n != nil {
		_ = n.host.Close(r.Context(), "the person closes it") // ends the session in any case
	}
	w.WriteHeader(http.StatusNoContent)
}

// writeLine sends a value to the page as a line of JSON.
func writeLine(w http.ResponseWriter, value any) error {
	c := http.NewResponseController(w)
	if err := c.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(value); err != nil {
		return err
	}
	return c.Flush()
}

// errorText returns an error as text for the page.
func errorText(err error) string { return strings.TrimSpace(hosttext.Line(err.Error(), maxFailure)) }
