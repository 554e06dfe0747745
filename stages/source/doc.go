// Package source turns the addresses of a fetch stage into a verified tree of files.
//
// It knows nothing of experiments. It is the only importer of go-getter, whose address syntax and getters it uses; what
// is ours is pinning, verifying and unpacking:
//
//		addresses --Resolve--> Resolved (fixed address, version, checksum) --Fetch--> a folder, and Facts about it
//
//	 1. An address is taken apart and given to the getter that takes it (address.go). Each kind of source is one getter in
//	    one file: http.go, local.go, git.go, apt.go, npm.go, system.go. Besides go-getter's interface it has resolve, which
//	    turns a moving reference into a fixed one.
//	 2. Resolve tries the addresses in order and returns the first that answers (source.go). A file without a checksum is
//	    downloaded to learn its sha256; held.go keeps it, without a name on the disk, for the Fetch that follows.
//	 3. Fetch (fetch.go) gets the file into its scratch folder (client.go), verifies it (checksum.go), unpacks it where it cannot do
//	    harm (archive.go, unpack.go), and only then fills the destination (place.go).
//
// go-getter's own decompressors are not used: they follow what an archive says about links, and unpack before a checksum
// of ours could be looked at. Its default getters are not used either: they share state between calls. Every call makes
// its own client with its own getters (client.go).
//
// Programs that are run: git, apt-get, apt-cache, apt-config, apt-helper, npm, pg_config and postgres (--version only),
// xz, zstd. All of them get an environment of our making plus the proxy and certificate variables (environ.go).
package source
