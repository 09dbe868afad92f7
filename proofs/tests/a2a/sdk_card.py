"""Verifies the signed card of a node with the official A2A SDK.

sdk_card.py URL CERTIFICATE KEY AUTHORITY CERTIFICATE-OF-THE-NODE
"""

import ssl
import sys

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate


def main():
    url, certificate, key, authority, signer = sys.argv[1:]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    with open(signer, "rb") as file:
        public = load_pem_x509_certificate(file.read()).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    verify = create_signature_verifier(lambda kid, jku: pem, ["ES256"])
    with httpx.Client(verify=context, timeout=60) as client:
        document = client.get(f"{url}/.well-known/agent-card.json").json()
    card = parse_agent_card(document)
    verify(card)
    card.description = "changed"
    try:
        verify(card)
    except InvalidSignaturesError:
        print("ok", flush=True)


main()
