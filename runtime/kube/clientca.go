package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap in which the API server publishes its settings for authenticating clients,
// so that other servers can authenticate them too.
const (
	lookupNamespace = metav1.NamespaceSystem
	lookupName      = "extension-apiserver-authentication"
	lookupKey       = "client-ca-file"
)

// ClientCAOfFile returns the certificate authorities in a file. It watches the file until ctx ends.
//
// # Errors
//
// The file cannot be read, or has no certificates.
func ClientCAOfFile(ctx context.Context, file string) (dynamiccertificates.CAContentProvider, error) {
	if err := regular(file); err != nil {
		return nil, err
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file)
	if err != nil {
		return nil, err
	}
	go ca.Run(ctx, 1)
	return ca, nil
}

// ClientCAOfCluster returns the authorities whose client certificates the API server
// accepts, from the ConfigMap kube-system/extension-apiserver-authentication. It watches
// the ConfigMap until ctx ends. Until the first read succeeds, no client certificate is
// accepted. With must, the first read happens at once.
//
// # Errors
//
// With must, the ConfigMap cannot be read.
func ClientCAOfCluster(ctx context.Context, client kubernetes.Interface, must bool) (dynamiccertificates.CAContentProvider, error) {
	if must {
		if _, err := client.CoreV1().ConfigMaps(lookupNamespace).Get(ctx, lookupName, metav1.GetOptions{}); err != nil {
			return nil, fmt.Errorf("read the certificate authorities of clients from the API server: %w", err)
		}
	}
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", lookupNamespace, lookupName, lookupKey, client)
	if err != nil {
		return nil, err
	}
	go ca.Run(ctx, 1)
	return ca, nil
}
