package oauth

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// answering is a person with an answer that an attacker changes.
func answering(w *world, change func(answer url.Values)) *Options {
	return w.granted(&AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, answer url.Values) url.Values {
		change(answer)
		return answer
	}}})
}

// TestAnswerIsChecked: unless an answer is surely the right server's, its code is not used and its words are not shown.
func TestAnswerIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name      string
		supported any // authorization_response_iss_parameter_supported
		change    func(url.Values)
		want      string // part of the error; empty for success
	}{
		{"iss supported and right", true, func(url.Values) {}, ""},
		{"iss supported and missing", true, func(a url.Values) { a.Del("iss") }, "does not name its issuer"},
		{"iss supported and empty", true, func(a url.Values) { a.Set("iss", "") }, "another issuer"},
		{"iss supported and wrong", true, func(a url.Values) { a.Set("iss", "https://evil.test") }, "another issuer"},
		{"iss not announced and right", nil, func(url.Values) {}, ""},
		{"iss not announced and missing", nil, func(a url.Values) { a.Del("iss") }, ""},
		{"iss not announced and wrong", nil, func(a url.Values) { a.Set("iss", "https://evil.test") }, "another issuer"},
		{"iss with a slash more", true, func(a url.Values) { a.Set("iss", issuerOne+"/") }, "another issuer"},
		{"iss in capitals", true, func(a url.Values) { a.Set("iss", "https://AS.test") }, "another issuer"},
		{"iss with the default port", true, func(a url.Values) { a.Set("iss", issuerOne+":443") }, "another issuer"},
		{"state missing", true, func(a url.Values) { a.Del("state") }, "another state"},
		{"state wrong", true, func(a url.Values) { a.Set("state", "guess") }, "another state"},
		{"state twice", true, func(a url.Values) { a.Add("state", "guess") }, "twice"},
		{"code twice", true, func(a url.Values) { a.Add("code", "stolen") }, "twice"},
		{"another parameter twice", true, func(a url.Values) { a["call-this-number"] = []string{"1", "2"} }, "twice"},
		{"no code", true, func(a url.Values) { a.Del("code") }, "no code"},
		{"long code", true, func(a url.Values) { a.Set("code", strings.Repeat("x", maxToken+1)) }, "has 65537 bytes, want at most 65536"},
		{"error of another issuer", true, func(a url.Values) {
			a.Set("iss", "https://evil.test")
			a.Set("error", "call-this-number")
			a.Set("error_description", "call-this-number")
		}, "another issuer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.meta["authorization_response_iss_parameter_supported"] = tt.supported
			err := call(t.Context(), w.transport(answering(w, tt.change)))
			if tt.want == "" {
				check.Must(t, err)
				return
			}
			wantUntrusted(t, err, tt.want)
			check.That(t, len(w.forms) == 0 && !strings.Contains(err.Error(), "call-this-number"), "got token requests %v, error %v", w.forms, err)
		})
	}
}

// TestRefusalIsExplained: the error has the server's words and advice.
func TestRefusalIsExplained(t *testing.T) {
	w := newWorld(t)
	err := call(t.Context(), w.transport(answering(w, func(a url.Values) {
		a.Del("code")
		a.Set("error", "access_denied")
		a.Set("error_description", "state is "+a.Get("state"))
	})))
	refused, ok := errors.AsType[*ServerError](err)
	check.That(t, ok && refused.Code == "access_denied" && refused.Issuer == issuerOne && strings.Contains(err.Error(), "allow the access"),
		"got %v, want a ServerError with access_denied", err)
	check.That(t, !ok || strings.Contains(refused.description, "[secret]"), "got %+v with the state in it", refused)
}

// TestStolenCode: a code of the victim's sign-in, put into the attacker's own answer, has another verifier.
func TestStolenCode(t *testing.T) {
	w := newWorld(t)
	var stolen string
	victim := answering(w, func(a url.Values) { stolen = a.Get("code"); a.Set("state", "lost") })
	wantUntrusted(t, call(t.Context(), w.transport(victim)), "another state")
	err := call(t.Context(), w.transport(answering(w, func(a url.Values) { a.Set("code", stolen) })))
	refused, ok := errors.AsType[*ServerError](err)
	check.That(t, ok && refused.Code == "invalid_grant", "got %v, want the server to refuse the code for its verifier", err)
}

// TestReplayedAnswer: an answer of an earlier sign-in is refused.
func TestReplayedAnswer(t *testing.T) {
	w := newWorld(t)
	var first url.Values
	auth := w.transport(w.granted(&AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, answer url.Values) url.Values {
		if first == nil {
			first = answer
		}
		return first
	}}}))
	w.mustCall(auth)
	w.revoke()
	w.set(func() { clear(w.refreshes) })
	wantUntrusted(t, call(t.Context(), auth), "another state")
	a, b := query(t, w.asked[0], "state"), query(t, w.asked[1], "state")
	check.That(t, a != b && len(a) >= 20, "got states %q and %q, want two that cannot be guessed", a, b)
	a, b = query(t, w.asked[0], "code_challenge"), query(t, w.asked[1], "code_challenge")
	check.That(t, a != b, "got the same code challenge twice")
}

func TestClientIdentityOrder(t *testing.T) {
	registered := Credentials{Issuer: issuerOne, ID: "by-hand", Secret: "secret-of-hand"}
	doc := &Credentials{ID: "https://host.test/client.json"}
	for _, tt := range []struct {
		name  string
		grant AuthorizationCode
		meta  map[string]any
		want  string
	}{
		{"by hand first", AuthorizationCode{Clients: []Credentials{registered}, Document: doc}, map[string]any{"client_id_metadata_document_supported": true}, "by-hand"},
		{"document next", AuthorizationCode{Document: doc}, map[string]any{"client_id_metadata_document_supported": true}, doc.ID},
		{"registration where documents are not taken", AuthorizationCode{Document: doc}, nil, "client-1-of-as.test"},
		{"of whichever server", AuthorizationCode{Client: &Credentials{ID: "given"}, Document: doc, RegisterAs: "Test"}, map[string]any{"client_id_metadata_document_supported": true}, "given"},
		{"by hand before that", AuthorizationCode{Clients: []Credentials{registered}, Client: &Credentials{ID: "given"}}, nil, "by-hand"},
		{"where no server of a client is named", AuthorizationCode{Clients: []Credentials{{Issuer: issuerTwo, ID: "other"}}, Client: &Credentials{ID: "given"}}, nil, "given"},
		{"credentials of another server are not used", AuthorizationCode{Clients: []Credentials{{Issuer: issuerTwo, ID: "other"}}, RegisterAs: "Test"}, nil, "client-1-of-as.test"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for k, v := range tt.meta {
				w.meta[k] = v
			}
			tt.grant.Receiver = &person{w: w}
			w.mustCall(w.transport(w.granted(&tt.grant)))
			check.Equal(t, "client_id", query(t, w.asked[0], "client_id"), tt.want)
		})
	}
}

// The host may reuse its values after New.
func TestConfiguredClientsAreCopied(t *testing.T) {
	for name, grant := range map[string]func(c *Credentials) AuthorizationCode{
		"Client":   func(c *Credentials) AuthorizationCode { return AuthorizationCode{Client: c} },
		"Document": func(c *Credentials) AuthorizationCode { return AuthorizationCode{Document: c} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta["client_id_metadata_document_supported"] = true
			c := &Credentials{ID: "https://host.test/client.json"}
			g := grant(c)
			g.Receiver = &person{w: w}
			auth := w.transport(w.granted(&g))
			c.ID = "changed"
			w.mustCall(auth)
			check.Equal(t, "client_id", query(t, w.asked[0], "client_id"), "https://host.test/client.json")
		})
	}
}

func TestCredentialsOfAnotherServer(t *testing.T) {
	w := newWorld(t)
	opts := w.granted(&AuthorizationCode{Receiver: &person{w: w}, Clients: []Credentials{{Issuer: issuerTwo, ID: "x", Secret: "y"}}})
	wantUntrusted(t, call(t.Context(), w.transport(opts)), "register with the new one")
	check.That(t, !slices.Contains(w.paths, "GET "+issuerOne+"/.well-known/oauth-authorization-server"),
		"continued with a server without credentials for it")
}
