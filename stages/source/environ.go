package source

import (
	"os"
	"strings"

	"pgpipeline/pipeline/proc"
)

// networkVars are passed on to children that use the network. They say how to reach it and whom to trust, and change
// nothing about what is fetched: everything is verified.
var networkVars = map[string]bool{
	"http_proxy": true, "https_proxy": true, "ftp_proxy": true, "all_proxy": true, "no_proxy": true,
	"ssl_cert_file": true, "ssl_cert_dir": true, "curl_ca_bundle": true, "requests_ca_bundle": true,
	"git_ssl_cainfo": true, "git_ssl_capath": true, "node_extra_ca_certs": true,
}

// networkEnv is the environment of a child that uses the network: the usual one, proxies and certificates, and extra.
func networkEnv(extra ...string) []string {
	var vars []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if networkVars[strings.ToLower(name)] {
			vars = append(vars, kv)
		}
	}
	return proc.Environ(append(vars, extra...)...)
}
