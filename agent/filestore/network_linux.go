package filestore

import "syscall"

// networkOf names the network file system of a directory, "" for another one and for one that cannot be asked.
func networkOf(dir string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return ""
	}
	return networks[uint32(s.Type)]
}

// networks are file systems whose locks are a matter of their server and of how they are mounted, by their numbers in Linux's magic.h.
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
