package cluster

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User is a user that the API server identifies by a token.
type User string

// The users of a cluster.
const (
	// Admin may do everything.
	Admin User = "admin"
	// KubeScheduler has the rights that every cluster gives to kube-scheduler
	// (ClusterRoles system:kube-scheduler and system:volume-scheduler).
	KubeScheduler User = "system:kube-scheduler"
	// Berth is the service account of deploy/, with the permissions that deploy/ grants it
	// (Install).
	Berth User = "system:serviceaccount:kube-system:berth"
	// Guest has only the permissions that a test grants.
	Guest User = "guest"
	// Nobody has no permissions.
	Nobody User = "nobody"
)

// Token is the user's bearer token.
func (u User) Token() string { return "token-" + strings.ReplaceAll(string(u), ":", "-") }

// tokenFile has a line for each user: token, name, UID, groups.
func tokenFile() string {
	var lines strings.Builder
	for _, u := range []User{Admin, KubeScheduler, Berth, Guest, Nobody} {
		groups := ""
		if u == Admin {
			groups = `,"system:masters"`
		}
		fmt.Fprintf(&lines, "%s,%s,%s%s\n", u.Token(), u, u, groups)
	}
	return lines.String()
}

// RESTConfig returns a client configuration for a user, without client-side rate limits.
func (c *Cluster) RESTConfig(u User) *rest.Config {
	return &rest.Config{
		Host: c.URL(), BearerToken: u.Token(), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.certificate()},
	}
}

// Kubeconfig writes a kubeconfig for a user and returns its path. server is the URL in it, by
// default that of the API server.
func (c *Cluster) Kubeconfig(u User, server string) (string, error) {
	return c.kubeconfig(u.Token(), server)
}

func (c *Cluster) kubeconfig(token, server string) (string, error) {
	if server == "" {
		server = c.URL()
	}
	file, err := os.CreateTemp(c.dir, "kubeconfig-")
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	const name = "e2e"
	return file.Name(), clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: server, CertificateAuthority: c.certificate()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, file.Name())
}
