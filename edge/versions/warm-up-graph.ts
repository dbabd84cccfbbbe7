/**
 * A scoring graph of two items, 576 bytes of ONNX. It is run once at start-up, which makes the first real session fast. Its test builds
 * the same bytes from the definition.
 */
const BASE64 = [
  "CAkSCXNob3J0bGlzdDqqBAolCgpjb25zdGFudF8wCgVpdGVtcxIIZ2F0aGVyXzEiBkdhdGhlcgovCglhZ2VzX2RheXMKCmNvbnN0YW50XzISC3Vu",
  "c3F1ZWV6ZV8zIglVbnNxdWVlemUKGQoLdW5zcXVlZXplXzMSBW5lZ180IgNOZWcKEwoFbmVnXzQSBWV4cF81IgNFeHAKHQoIZ2F0aGVyXzEKBWV4",
  "cF81EgVtdWxfNiIDTXVsCjwKBW11bF82Cgpjb25zdGFudF83EgtyZWR1Y2VzdW1fOCIJUmVkdWNlU3VtKg8KCGtlZXBkaW1zGAGgAQIKKwoLcmVk",
  "dWNlc3VtXzgKCmNvbnN0YW50XzASCG1hdG11bF85IgZNYXRNdWwKLAoIbWF0bXVsXzkKC2NvbnN0YW50XzEwEgpyZXNoYXBlXzExIgdSZXNoYXBl",
  "Ch4KCnJlc2hhcGVfMTESBnNjb3JlcyIISWRlbnRpdHkSB3dhcm1fdXAqJAgCCAIQAUIKY29uc3RhbnRfMEoQAACAPwAAAAAAAAAAAACAPyoaCAEQ",
  "B0IKY29uc3RhbnRfMkoIAQAAAAAAAAAqGggBEAdCCmNvbnN0YW50XzdKCAAAAAAAAAAAKhsIARAHQgtjb25zdGFudF8xMEoI//////////9aFAoF",
  "aXRlbXMSCwoJCAYSBQoDEgFMWhgKCWFnZXNfZGF5cxILCgkIARIFCgMSAUxiFAoGc2NvcmVzEgoKCAgBEgQKAggCQgQKABAS",
].join("");

export const warmUpGraph = (): Uint8Array => Uint8Array.from(atob(BASE64), (character) => character.charCodeAt(0));
