/** The style of the reference, light and dark. */
export const STYLE = `
:root{color-scheme:light dark;--paper:light-dark(#fff,#161616);--ink:light-dark(#111,#eee)}
:root{--line:light-dark(#ddd,#444);--code:light-dark(#f4f4f5,#222);--link:light-dark(#0550ae,#8cc2ff)}
body{font:16px/1.5 system-ui,sans-serif;margin:0;background:var(--paper);color:var(--ink)}
body{display:grid;grid-template-columns:19rem minmax(0,52rem);gap:2.5rem}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;box-sizing:border-box;border-right:1px solid var(--line);font-size:14px}
nav h1{font-size:1.2rem}
nav h2{font-size:.9rem;margin:1rem 0 .2rem}
nav ul{list-style:none;margin:0;padding:0}
nav a{display:flex;gap:.4em;text-decoration:none}
nav b{flex:0 0 4.6em;font-size:11px;line-height:21px}
main{padding:1rem 1rem 6rem}
a{color:var(--link)}
article{border-top:1px solid var(--line);padding:.5rem 0 1.5rem}
h3{margin:.8rem 0 0}
h4{margin:1rem 0 .2rem}
code,pre,textarea,input{font:14px/1.45 ui-monospace,monospace}
code{background:var(--code);padding:.1em .3em;border-radius:3px}
pre{background:var(--code);padding:1em;border-radius:6px;overflow:auto;margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
.address{font-weight:600;overflow-wrap:anywhere}
main ul{padding-left:1.2rem}
i{color:light-dark(#555,#aaa)}
main b{font-size:.85em}
summary{cursor:pointer}
textarea,input{box-sizing:border-box;max-width:100%;width:100%}
#key{position:sticky;top:0;background:var(--paper);padding:.5rem 0;border-bottom:1px solid var(--line)}
#key input{width:auto}
article,dt,section{scroll-margin-top:6rem}
form label{display:block;margin:.4rem 0}
#key label{display:inline}
dd{margin:0 0 .6rem 1.2rem}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto;border:0}}
`;
