package plan

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"coxswain.dev/bed/pki"
)

// File is a file of the state folder.
type File struct {
	Path    string
	Content []byte
	Secret  bool // for the owner's eyes only
}

// client is one of the bed's users of the API server.
type client struct {
	file   string // name of its kubeconfig
	user   string
	groups []string
}

var clients = map[Mode][]client{
	ControlPlane: {
		{file: "controller-manager", user: "system:kube-controller-manager"},
		{file: "scheduler", user: "system:kube-scheduler"},
	},
	Node: {
		{file: "node", user: "system:node:" + NodeName, groups: []string{"system:nodes"}},
		{file: "proxy", user: "system:kube-proxy"},
		{file: "dns", user: "bed:dns", groups: []string{"system:masters"}},
	},
}

// Files are the files that the bed's programs start from, certificates included, valid from now on.
func (bed Bed) Files(now time.Time) ([]File, error) {
	authority, err := pki.NewAuthority("bed-"+bed.Name, now)
	if err != nil {
		return nil, err
	}
	files, err := bed.credentials(authority)
	if err != nil {
		return nil, err
	}
	users := clients[ControlPlane] // whom a bed without a scheduler has too
	if bed.Mode.RunsPods() {
		users = append(users[:len(users):len(users)], clients[Node]...)
	}
	for _, user := range users {
		pair, err := authority.Issue(pki.Subject{CommonName: user.user, Organizations: user.groups})
		if err != nil {
			return nil, err
		}
		files = append(files, File{bed.identity(user.file), kubeconfig(authority.Certificate, pair), true})
	}

	documents := map[string]any{"scheduler": bed.schedulerConfig()}
	if bed.Audit {
		documents["audit-policy"] = bed.auditPolicy()
	}
	if bed.Mode.RunsPods() {
		documents["kubelet"] = bed.kubeletConfig()
		documents["proxy"] = bed.proxyConfig()
		documents["dns-service"] = dnsService()
		files = append(files,
			File{bed.Path("config", "containerd.toml"), []byte(bed.containerdConfig()), false},
			File{bed.Path("config", "cni", "10-bed.conflist"), encode(networkConfig()), false},
			File{bed.Path("config", "Corefile"), []byte(bed.corefile()), false},
			File{bed.Path("config", "resolv.conf"), []byte("nameserver " + NodeAddress + "\n"), false},
		)
	}
	for name, document := range documents {
		files = append(files, File{bed.config(name), encode(document), false})
	}
	return files, nil
}

// credentials are the certificates and keys that programs read as files, and the administrator's kubeconfig.
func (bed Bed) credentials(authority *pki.Authority) ([]File, error) {
	admin, err := authority.Issue(pki.Subject{CommonName: "admin", Organizations: []string{"system:masters"}})
	if err != nil {
		return nil, err
	}
	server, err := authority.Issue(pki.Subject{
		CommonName: "kube-apiserver",
		DNSNames: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		Addresses: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(ServiceAddress), net.ParseIP(NodeAddress)},
	})
	if err != nil {
		return nil, err
	}
	node, err := authority.Issue(pki.Subject{
		CommonName: NodeName, DNSNames: []string{NodeName}, Addresses: []net.IP{net.ParseIP(NodeAddress)},
	})
	if err != nil {
		return nil, err
	}
	tokens, err := pki.NewKey()
	if err != nil {
		return nil, err
	}

	files := []File{
		{bed.Kubeconfig(), kubeconfig(authority.Certificate, admin), true},
		{bed.Path("pki", "sa.key"), tokens, true},
	}
	for name, pair := range map[string]pki.Pair{"ca": authority.Pair, "admin": admin, "apiserver": server, "kubelet": node} {
		files = append(files,
			File{bed.Path("pki", name+".crt"), pair.Certificate, false},
			File{bed.Path("pki", name+".key"), pair.Key, true})
	}
	return files, nil
}

// kubeconfig holds its certificates itself, so that it may be copied elsewhere.
func kubeconfig(authority []byte, pair pki.Pair) []byte {
	text := base64.StdEncoding.EncodeToString
	return encode(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "bed",
		"clusters": []object{{"name": "bed", "cluster": object{"server": Server, "certificate-authority-data": text(authority)}}},
		"users": []object{{"name": "bed", "user": object{
			"client-certificate-data": text(pair.Certificate), "client-key-data": text(pair.Key),
		}}},
		"contexts": []object{{"name": "bed", "context": object{"cluster": "bed", "user": "bed"}}},
	})
}

type object = map[string]any

// encode writes JSON, which every program here reads where its manual says YAML, and which needs no quoting rules.
func encode(document any) []byte {
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("a document of plain values does not encode: %v", err))
	}
	return append(content, '\n')
}
