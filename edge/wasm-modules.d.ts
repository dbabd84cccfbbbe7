/** What the bundler makes of an imported .wasm file: compiled code, not bytes. */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
