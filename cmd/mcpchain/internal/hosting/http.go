package hosting

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// Refusal is the error of a request whose sender may know the reason.
type Refusal struct {
	Status int    // the response's status
	Text   string // for the sender
}

// Error implements error.
func (r Refusal) Error() string { return r.Text }

// Refuse returns a [Refusal].
func Refuse(status int, format string, args ...any) error {
	return Refusal{status, fmt.Sprintf(format, args...)}
}

// ReadJSON decodes the body of a request: one JSON value of at most maxBytes. A member that v does not have is an error,
// because it may be mistyped. The error is a [Refusal].
func ReadJSON(w http.ResponseWriter, r *http.Request, maxBytes int64, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		switch _, err = d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = errors.New("there is more than one value")
		}
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return Refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", maxBytes)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Refuse(http.StatusBadRequest, "%s", typeErrorText(wrong))
	}
	return Refuse(http.StatusBadRequest, "read the body as JSON: %.200s", strings.TrimPrefix(err.Error(), "json: "))
}

// typeErrorText describes the value of a body that has the wrong type.
func typeErrorText(e *json.UnmarshalTypeError) string {
	want := "a number"
	switch e.Type.Kind() {
	case reflect.Slice:
		want = "a list in [brackets]"
	case reflect.Struct, reflect.Map:
		want = "an object in {braces}"
	case reflect.String:
		want = "a text in quotes"
	case reflect.Bool:
		want = "true or false"
	}
	return fmt.Sprintf("%.100s is a JSON %s: want %s", cmp.Or(e.Field, "the body"), e.Value, want)
}

// WriteJSON answers with a value as JSON, which no cache may keep. A value that has no JSON becomes
// an error with status 500.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer has no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // an error means that the client is gone
}

// WriteError answers with {"error": "…"}.
func WriteError(w http.ResponseWriter, status int, text string) {
	WriteJSON(w, status, map[string]string{"error": text})
}

// Routes returns a handler with the routes of a mux. A request without a route gets an error of [WriteError] instead of
// the text of the mux, or its redirect to a clean path.
func Routes(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			w = unrouted{w}
		}
		mux.ServeHTTP(w, r)
	})
}

// unrouted is a response to a request without a route.
type unrouted struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter]: it writes the whole response.
func (w unrouted) WriteHeader(status int) {
	switch status {
	case http.StatusNotFound:
		WriteError(w.ResponseWriter, status, "there is no such path")
	case http.StatusMethodNotAllowed:
		WriteError(w.ResponseWriter, status, "the path has no such method")
	default: // a redirect
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write drops the text of the mux.
func (w unrouted) Write(p []byte) (int, error) { return len(p), nil }
