// Package signin identifies the users of the page: by a token of a file, by a header of the
// proxy, or in a demo by a name without proof. A custom sign-in implements site.SignIn.
//
// Sessions are a random secret in a cookie that scripts and other sites cannot use. The database has only its hash.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
)

// lifetime is how long a session lasts. It is not extended by its use.
const lifetime = 7 * 24 * time.Hour

// maxSignIn bounds the body of a sign-in, in bytes.
const maxSignIn = 64 << 10

// MaxSessions bounds the sessions of a user. One more ends the oldest.
const MaxSessions = 100

// Sessions is a sign-in by token or by name. It implements site.SignIn.
type Sessions struct {
	db     *sql.DB
	users  Users
	secure bool
}

// Users are the people who may sign in.
type Users struct {
	Names  []string      // without proof
	Tokens *tokens.Table // nil: sign in by name
}

// New creates the table of sessions in a SQLite database, which remains the caller's. secure
// restricts the cookie to HTTPS.
func New(ctx context.Context, db *sql.DB, users Users, secure bool) (*Sessions, error) {
	_, err := db.ExecContext(ctx, `DROP TABLE IF EXISTS web_sessions; CREATE TABLE IF NOT EXISTS web_sign_ins (
		hash TEXT PRIMARY KEY, name TEXT NOT NULL, token TEXT NOT NULL, expires INTEGER NOT NULL) STRICT`)
	if err != nil {
		return nil, fmt.Errorf("make the table of sessions: %w", err)
	}
	return &Sessions{db, users, secure}, nil
}

// Choices implements site.SignIn.
func (s *Sessions) Choices() site.Choices {
	return site.Choices{Names: s.users.Names, Token: s.users.Tokens != nil}
}

// holds reports whether a user may sign in, or stay signed in, with the token that has this hash; "" is for a sign-in by name.
func (s *Sessions) holds(user, token string) bool {
	if s.users.Tokens != nil {
		return s.users.Tokens.Holds(user, token)
	}
	return token == "" && slices.Contains(s.users.Names, user)
}

// Person returns the user of a request. An error of the database counts as nobody.
func (s *Sessions) Person(r *http.Request) (p site.Person, ok bool) {
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return site.Person{}, false
	}
	p.Session = hashOf(cookie.Value)
	var token string
	err = s.db.QueryRowContext(r.Context(), `SELECT name, token FROM web_sign_ins WHERE hash = ? AND expires > ?`,
		p.Session, time.Now().Unix()).Scan(&p.User, &token)
	return p, err == nil && s.holds(p.User, token)
}

// ServeHTTP begins a session for {"name": "…"} or {"token": "…"}.
func (s *Sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/sign-in" {
		hosting.WriteError(w, http.StatusNotFound, "there is no such page")
		return
	}
	var in struct {
		Name  string `json:"name"`
		Token string `json:"token"`
	}
	err := hosting.ReadJSON(w, r, maxSignIn, &in)
	if refused, ok := errors.AsType[hosting.Refusal](err); ok {
		hosting.WriteError(w, refused.Status, refused.Text)
		return
	}
	token := ""
	if s.users.Tokens != nil {
		in.Name, token, _ = s.users.Tokens.Find(strings.TrimSpace(in.Token))
	}
	if !s.holds(in.Name, token) {
		hosting.WriteError(w, http.StatusBadRequest, "no user has that name or token")
		return
	}
	secret := rand.Text()
	if err := s.keep(r.Context(), hashOf(secret), in.Name, token); err != nil {
		hosting.WriteError(w, http.StatusInternalServerError, "the session cannot be kept")
		return
	}
	http.SetCookie(w, s.cookie(secret, lifetime))
	w.WriteHeader(http.StatusNoContent)
}

// keep stores a session, and deletes those that have expired, and the oldest ones of the user beyond MaxSessions.
func (s *Sessions) keep(ctx context.Context, hash, name, token string) error {
	now := time.Now()
	for _, change := range []struct {
		query string
		args  []any
	}{
		{`DELETE FROM web_sign_ins WHERE expires <= ?`, []any{now.Unix()}},
		{`INSERT INTO web_sign_ins VALUES (?, ?, ?, ?)`, []any{hash, name, token, now.Add(lifetime).Unix()}},
		{`DELETE FROM web_sign_ins WHERE name = ? AND rowid NOT IN (SELECT rowid FROM web_sign_ins WHERE name = ? ORDER BY rowid DESC LIMIT ?)`,
			[]any{name, name, MaxSessions}},
	} {
		if _, err := s.db.ExecContext(ctx, change.query, change.args...); err != nil {
			return err
		}
	}
	return nil
}

// SignOut ends the session. Without one it only deletes the cookie.
func (s *Sessions) SignOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(s.cookieName()); err == nil {
		if _, err := s.db.ExecContext(r.Context(), `DELETE FROM web_sign_ins WHERE hash = ?`, hashOf(cookie.Value)); err != nil {
			hosting.WriteError(w, http.StatusInternalServerError, "the session cannot be ended")
			return
		}
	}
	http.SetCookie(w, s.cookie("", -time.Second))
	w.WriteHeader(http.StatusNoContent)
}

// cookie returns the session's cookie. It is not Strict, because the browser has to send it when a server's sign-in
// redirects back here. The browser does not send it with a changing request from another site.
func (s *Sessions) cookie(value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure,
	}
}

// cookieName returns the name of the cookie, which belongs to this program, because the ports of a machine share
// cookies. The prefix of a secure one has the browser refuse it from other hosts and without HTTPS.
func (s *Sessions) cookieName() string {
	if s.secure {
		return "__Host-mcpchain-web"
	}
	return "mcpchain-web"
}

// hashOf returns the hash by which the database knows a secret.
func hashOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}

// Proxy takes the user from a header of the proxy, which has signed the user in. It implements site.SignIn.
type Proxy struct {
	Header  string
	Trusted bounded.Addresses // trusted proxies; the header of others is ignored
}

// Choices implements site.SignIn.
func (p *Proxy) Choices() site.Choices { return site.Choices{} }

// Person returns the user of a request. Nobody is signed in if the header is not there once, or its
// value is not a name in UTF-8.
func (p *Proxy) Person(r *http.Request) (site.Person, bool) {
	names := r.Header.Values(p.Header)
	if len(names) != 1 || !p.Trusted.HasSender(r) { // a second one may come from the browser
		return site.Person{}, false
	}
	user := strings.TrimSpace(names[0])
	if user == "" || len(user) > tokens.MaxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, unicode.IsControl) {
		return site.Person{}, false
	}
	return site.Person{User: user}, true // the session is the proxy's
}

// ServeHTTP answers people whom the proxy has not named.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reason := fmt.Sprintf("The proxy in front of this page has not said who you are, in UTF-8 in the header %s.", p.Header)
	if !p.Trusted.HasSender(r) {
		reason = "This page is reached through a proxy that signs people in. This request did not come from there."
	}
	site.WritePage(w, http.StatusForbidden, "You are not signed in", reason)
}

// SignOut refers to a page that says where to sign out.
func (p *Proxy) SignOut(w http.ResponseWriter, _ *http.Request) {
	hosting.WriteError(w, http.StatusConflict, "you are signed in by the proxy in front of this page; sign out there")
}
