//go:build !linux

package filestore

func networkOf(string) string { return "" }
