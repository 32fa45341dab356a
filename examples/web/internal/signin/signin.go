// Package signin knows the users of a demo by a name that they choose, without any proof. Who
// copies the example puts a real sign-in in its place: the interface is site.SignIn.
//
// Its sessions are real: a random secret in a cookie that scripts and other sites cannot use. The
// database has only the hash of it.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/examples/web/internal/site"
)

const lifetime = 7 * 24 * time.Hour

// Demo is a sign-in by name. It implements site.SignIn.
type Demo struct {
	db     *sql.DB
	names  []string
	secure bool
}

// NewDemo makes the table of sessions in a SQLite database, which stays the caller's. If browsers
// reach the page by HTTPS, secure has them send the cookie in no other way.
func NewDemo(ctx context.Context, db *sql.DB, names []string, secure bool) (*Demo, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS web_sessions (
		hash TEXT PRIMARY KEY, name TEXT NOT NULL, expires INTEGER NOT NULL) STRICT`)
	if err != nil {
		return nil, fmt.Errorf("make the table of sessions: %w", err)
	}
	return &Demo{db, names, secure}, nil
}

// Names are the users to choose from.
func (d *Demo) Names() []string { return d.names }

// Person names the user of a request.
func (d *Demo) Person(r *http.Request) (p site.Person, ok bool) {
	cookie, err := r.Cookie(d.cookieName())
	if err != nil {
		return site.Person{}, false
	}
	p.Session = hashOf(cookie.Value)
	err = d.db.QueryRowContext(r.Context(), `SELECT name FROM web_sessions WHERE hash = ? AND expires > ?`,
		p.Session, time.Now().Unix()).Scan(&p.User)
	return p, err == nil && slices.Contains(d.names, p.User)
}

// ServeHTTP begins a session for {"name": "…"}.
func (d *Demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/sign-in" {
		http.Error(w, `{"error":"the demo has no such page"}`, http.StatusNotFound)
		return
	}
	var in struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !slices.Contains(d.names, in.Name) {
		http.Error(w, `{"error":"no user of the demo has that name"}`, http.StatusBadRequest)
		return
	}
	secret, now := rand.Text(), time.Now()
	_, err := d.db.ExecContext(r.Context(), `DELETE FROM web_sessions WHERE expires <= ?`, now.Unix())
	if err == nil {
		_, err = d.db.ExecContext(r.Context(), `INSERT INTO web_sessions VALUES (?, ?, ?)`, hashOf(secret), in.Name, now.Add(lifetime).Unix())
	}
	if err != nil {
		http.Error(w, `{"error":"the session cannot be kept"}`, http.StatusInternalServerError)
		return
	}
	http.SetCookie(w, d.cookie(secret, lifetime))
	w.WriteHeader(http.StatusNoContent)
}

// SignOut ends the session.
func (d *Demo) SignOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(d.cookieName()); err == nil {
		if _, err := d.db.ExecContext(r.Context(), `DELETE FROM web_sessions WHERE hash = ?`, hashOf(cookie.Value)); err != nil {
			http.Error(w, `{"error":"the session cannot be ended"}`, http.StatusInternalServerError)
			return
		}
	}
	http.SetCookie(w, d.cookie("", -time.Second))
	w.WriteHeader(http.StatusNoContent)
}

// cookie is not Strict: the browser has to send it when a server's sign-in leads back here. A
// request of another site that changes something has no cookie all the same.
func (d *Demo) cookie(value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: d.cookieName(), Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: d.secure,
	}
}

// cookieName is not that of other programs on this machine, whose ports share their cookies.
func (d *Demo) cookieName() string {
	if d.secure {
		return "__Host-mcpchain-web"
	}
	return "mcpchain-web"
}

func hashOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}
