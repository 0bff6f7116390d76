//! Strings of Java, read and made.

use jni::Env;
use jni::objects::{JObjectArray, JString};

use crate::edge::Fault;

pub(crate) fn of(env: &Env<'_>, string: &JString<'_>) -> Result<String, Fault> {
    Ok(string.try_to_string(env)?)
}

/// The texts of an array.
pub(crate) fn all_of<'local>(
    env: &mut Env<'local>,
    array: &JObjectArray<'local, JString<'local>>,
) -> Result<Vec<String>, Fault> {
    let mut texts = Vec::new();
    for place in 0..array.len(env)? {
        // Each is freed at once: a call has room for few references.
        let string = array.get_element(env, place)?;
        texts.push(of(env, &string)?);
        env.delete_local_ref(string);
    }
    Ok(texts)
}

/// An array of texts; `None` is `null`.
pub(crate) fn array<'local>(
    env: &mut Env<'local>,
    texts: &[Option<String>],
) -> Result<JObjectArray<'local, JString<'local>>, Fault> {
    let array = JObjectArray::<JString<'local>>::new(env, texts.len(), JString::null())?;
    for (place, text) in texts.iter().enumerate() {
        let Some(text) = text else { continue };
        let string = env.new_string(text)?;
        array.set_element(env, place, &string)?;
        env.delete_local_ref(string);
    }
    Ok(array)
}
