//! How types are written in messages.

use super::Checker;
use super::decls::Kind;
use super::ty::Ty;

/// Longer than this, the name of an alias says more than what it stands for.
const MAX_WRITTEN_OUT: usize = 160;

impl Checker<'_> {
    pub(super) fn show(&self, ty: &Ty) -> String {
        let mut out = String::new();
        self.write(ty, &mut out);
        out
    }

    /// The type of a message: an alias is written out, once.
    pub(super) fn show_out(&self, ty: &Ty) -> String {
        if let Ty::User(id, _) = ty
            && matches!(self.decls[*id].kind, Kind::Alias(_))
        {
            let shown = self.show(&self.expand(ty));
            if shown.len() <= MAX_WRITTEN_OUT && shown != "_" {
                return shown;
            }
        }
        self.show(ty)
    }

    fn write(&self, ty: &Ty, out: &mut String) {
        match ty {
            Ty::Hole => out.push('_'),
            Ty::Basic(name, _) => {
                out.push_str(name);
                self.write_args(ty.args(), out);
            }
            Ty::User(id, _) => {
                out.push_str(&self.decls[*id].name);
                self.write_args(ty.args(), out);
            }
            Ty::Param(name) => out.push_str(name),
            Ty::Shape(shape) => {
                out.push('{');
                for (at, field) in shape.fields.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    out.push_str(&field.name);
                    out.push_str(if field.optional { "?: " } else { ": " });
                    self.write(&field.ty, out);
                }
                out.push('}');
            }
            Ty::Union(members) => self.write_all(&members.items, " | ", out),
            Ty::Function(function) => {
                out.push_str("fn(");
                self.write_all(&function.params, ", ", out);
                out.push_str(") -> ");
                self.write(&function.returns, out);
            }
            Ty::Str(text) => {
                out.push('"');
                out.push_str(text);
                out.push('"');
            }
            Ty::Int(value) => out.push_str(&value.to_string()),
            Ty::Loose(inner, _) => self.write(inner, out),
        }
    }

    fn write_args(&self, args: &[Ty], out: &mut String) {
        if !args.is_empty() {
            out.push('<');
            self.write_all(args, ", ", out);
            out.push('>');
        }
    }

    fn write_all(&self, types: &[Ty], between: &str, out: &mut String) {
        for (at, ty) in types.iter().enumerate() {
            out.push_str(if at > 0 { between } else { "" });
            self.write(ty, out);
        }
    }
}
