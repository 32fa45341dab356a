// Package testenv starts what tests find around them: their own program in roles, programs of npm packages, a Postgres
// server. Its flag -soak makes tests try all their cases.
package testenv
