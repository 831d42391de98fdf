// Links to pages outside of the book are to Markdown, as in the sources; mdBook has made them end in .html.
for (const link of document.querySelectorAll('a[href^="../../"]')) {
    link.setAttribute("href", link.getAttribute("href").replace(/\.html(#|$)/, ".md$1"));
}
