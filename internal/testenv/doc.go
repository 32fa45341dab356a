// Package testenv starts what tests need: their own program in roles, MCP servers that a function answers, programs of
// npm packages, a Postgres server. Its flag -soak makes tests try all their cases.
package testenv
