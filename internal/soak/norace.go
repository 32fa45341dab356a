//go:build !race

package soak

const racing = false
