package filestore

import "syscall"

// networkOf returns the name of the network file system of a directory, "" if it is a local one
// or cannot be determined.
func networkOf(dir string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return ""
	}
	return networks[uint32(s.Type)]
}

// networks lists the file systems whose locks depend on their server and mount options, by their
// numbers in Linux's magic.h.
var networks = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xfe534d42: "SMB",
	0xff534d42: "SMB",
	0x5346414f: "AFS",
	0x6b414653: "AFS",
	0x73757245: "Coda",
	0x564c:     "NCP",
}
