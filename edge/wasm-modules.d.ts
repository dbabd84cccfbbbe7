/** The bundler makes compiled code, not bytes, of an imported .wasm file. */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
